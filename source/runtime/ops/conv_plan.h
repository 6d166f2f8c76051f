// Shape side of Conv and ConvTranspose: how a layer is cut into phases (regular grids of outputs that share their
// taps), tiles (panels of 8 to 64 output channels) and strips (rows of outputs whose input fits a cache).
#pragma once
#include <vector>

#include "runtime/ops/product_quant.h"

namespace lq {

/// A layer in two spatial axes. A 1-D layer [N, C, L] is h = L, w = 1, so that strips cut its length.
struct ConvShape {
  int64_t batch, ic, ih, iw, oc, oh, ow;
  int64_t groups, icg, ocg;  // channels a group
  int64_t kh, kw, sh, sw, dh, dw, pad_h, pad_w;
  int64_t in_blocks() const { return (ic + kBlock - 1) / kBlock; }
  int64_t out_blocks() const { return (oc + kBlock - 1) / kBlock; }
};

/// Weight (kh, kw) read at input row out_row · row_mult + dy, column out_col · col_mult + dx.
struct ConvTap {
  int64_t index;  // kh · KW + kw
  int64_t dy, dx;
};

/// How a phase reads its input: straight from x, or from a strip buffer padded with zeros (worker scratch).
struct ConvStrip {
  bool direct = false;
  int64_t rows = 0, count = 0;                 // output rows a strip, strips a phase
  int64_t height = 0, width = 0;               // pixels of the strip buffer
  int64_t row_step = 0, col_step = 0;          // its pixels between neighbouring outputs
  int64_t src_row_step = 1, src_col_step = 1;  // input pixels between its pixels
  int64_t first_row = 0, first_col = 0;        // smallest dy, dx
  std::vector<ptrdiff_t> tap;                  // element offset of each tap
};

/// Outputs (row0 + j · row_step, col0 + i · col_step), j < rows, i < cols: all have the same taps, in ascending order.
struct ConvPhase {
  int64_t rows, cols, row0, col0, row_step, col_step, row_mult, col_mult;
  std::vector<ConvTap> taps;
  int64_t weights = 0;  // where its panels begin, elements
  ConvStrip strip;
};

/// Output channels [channel, channel + lanes) of one panel.
struct ConvTile {
  int32_t channel, lanes, width, group;
  int32_t in_begin;      // first input channel of the panel's blocks (a multiple of 8 within the strip)
  int32_t blocks, tail;  // as PanelGeometry
  int64_t panel;         // elements a tap of all tiles before this one
  int32_t slot;          // where its `width` constants (bias, multiplier) begin
  int32_t steps;         // of a step form: steps a tap
};

struct ConvPlan {
  ConvShape shape;
  ProductForm form = ProductForm::kF32;
  int64_t max_width = 16;  // of a panel, as the kernel's row says
  bool integer() const { return form != ProductForm::kF32; }
  // Form kS16 with so few channels that half of a pair would be empty (first layers): the strip holds a pixel's
  // channels and nothing else, a kernel row is one run of kw · ic values, and the phase has one tap a kernel row.
  bool joined = false;
  int64_t group_channels() const { return joined ? shape.kw * shape.ic : shape.icg; }
  std::vector<ConvPhase> phases;
  std::vector<ConvTile> tiles;
  int64_t panel_total = 0;   // elements a tap of all tiles
  int64_t weight_total = 0;  // elements of all phases
  int32_t slots = 0;         // constants of all tiles
  int64_t strip_blocks = 0;  // blocks in a strip: integer forms all channels, float one group's
  bool gather = false;       // float: a group's channels don't start at a block, the strip collects them
  bool scatter = false;      // float: a group's outputs don't fill blocks, results go through a buffer
};

/// Reads shapes and attributes (already inferred and checked); Status where the runtime has no form for them.
Result<ConvShape> conv_shape(const OpPrepare& p, bool transposed);
std::vector<ConvPhase> conv_phases(const ConvShape& s);
std::vector<ConvPhase> conv_transpose_phases(const ConvShape& s);
/// Tiles, panel sizes and weight offsets for plan.phases.
void plan_tiles(ConvPlan& plan);

struct StripOptions {
  int64_t pixel_bytes;     // bytes of one pixel, all blocks of the strip
  int64_t pixel_elements;  // elements between neighbouring pixels of a block
  bool allow_direct;
  int64_t pieces_per_row_strip;  // independent work items one strip gives (batch × tiles)
  int threads;
  int64_t budget_bytes;  // wanted size of a strip
};
// Panels read a strip once a tile: it should stay in a core's second-level cache beside a panel of weights. A depthwise
// strip is read once, straight after it was made: first-level cache.
inline constexpr int64_t kPanelStripBytes = 128 << 10, kDepthwiseStripBytes = 24 << 10;
/// Chooses a phase's strips. kUnsupported if a single output row would need an absurd buffer (hostile pads or
/// dilations).
Status plan_strip(ConvPhase& phase, const ConvShape& s, const StripOptions& options);

/// Where to find the weight of (group, output in the group, input in the group, tap).
struct WeightStrides {
  int64_t group, out, in;
};
WeightStrides conv_weight_strides(const ConvShape& s, bool transposed);

}  // namespace lq
