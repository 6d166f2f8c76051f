// Exact integer Winograd (docs/NUMERICS.md): int8 convolutions of 3 × 3, stride 1, dilation 1, one group, with the bits
// of the direct kernels and a quarter (tiles of 4 × 4 outputs) or 4/9 (2 × 2) of their multiplications.
#pragma once
#include <vector>

#include "kernels/registry.h"
#include "kernels/winograd_kernels.h"
#include "runtime/ops/conv_plan.h"

namespace lq {

/// How a layer is walked. A strip is a row of tiles, or a piece of one where the image is very wide; a chunk is as many
/// strips as the transformed input has room for. Per chunk all inputs are transformed, then every panel (or two) of 16
/// output channels transforms its weights and multiplies: transformed weights exist a panel (and at most 64 input
/// channels) at a time, so the packed weights stay bytes.
struct WinogradPlan {
  int m = 0;                    // outputs of a tile a dimension
  int64_t tiles_h, tiles_w;     // of an image
  int64_t strip_tiles;          // most tiles a strip
  int64_t strip_pieces;         // strips a row of tiles
  int64_t strips;               // of all images
  int64_t chunk_strips;         // 1 where strips are pieces
  int64_t chunk_tiles;          // most of a chunk
  int64_t pairs, pairs_once;    // of input channels; those transformed together
  int64_t panels, panels_once;  // of output channels; those multiplied together
  int64_t group_tiles;          // tiles multiplied before their outputs are transformed
  // Elements
  int64_t v_block, v_position, u_position, u_panel, sum_position, sum_panel;
  // Scratch: [transformed input, shared][weights, sums, rows of each worker]
  size_t v_bytes, u_bytes, sum_bytes, worker_bytes;
};

/// 3 × 3, stride 1, dilation 1, one group, and outputs to make.
bool is_winograd_shape(const ConvShape& s);

/// Largest tile (4 or 2) for which every sum of the layer comes out exact, 0 if none: weights w in canonical order, x's
/// zero point. docs/NUMERICS.md has the bound.
int winograd_exact_tile(const ConvShape& s, const int8_t* w, int32_t zero_point);

/// Cuts the layer; m must be 2 or 4, panel_width that of the product kernel's row.
WinogradPlan plan_winograd(const ConvShape& s, int m, int panel_width);

/// The product kernel for tiles of m outputs of an instruction set, scalar if it has none. apart: weights of form s8x1.
struct WinogradProduct {
  const KernelRow* row;
  bool apart;
};
WinogradProduct winograd_product(int m, Isa isa);

/// Prepares the layer if Winograd is exact and pays; false: nothing was done, the panel kernels take it.
Result<bool> prepare_winograd(OpPrepare& p, const ConvShape& shape);
/// Prepares it with tiles of m outputs whether it pays or not. The shape must be a Winograd shape, m at most its
/// winograd_exact_tile, the weights constant int8.
Status prepare_winograd_tile(OpPrepare& p, const ConvShape& shape, int m);

}  // namespace lq
