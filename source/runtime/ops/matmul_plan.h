// Gemm and MatMul as batches of row-panel products: y[M, N] = a[M, K] · b[K, N], every matrix reached by strides.
#pragma once
#include <vector>

#include "runtime/ops/product_quant.h"
#include "runtime/ops/product_steps.h"
#include "runtime/ops/short_output.h"

namespace lq {

struct MatMulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 0;   // element strides of a (m, k)
  int64_t b_row = 0, b_col = 0;   // of b (k, n)
  std::vector<int64_t> a_offset;  // per batch: where its a begins
  std::vector<int64_t> b_index;   // per batch: which of the distinct b matrices
  std::vector<int64_t> b_offset;  // per distinct b: where it begins
  int64_t batches() const { return int64_t(a_offset.size()); }
};

/// Panels of `panel` columns of b (the last one narrower), K rows each, `together` of them in a lane: float [K][width],
/// int16 [ceil(K / 2)][width][2], int8 [ceil(K / 4)][width][4] or [ceil(K / 8)][width][8], steps [ceil(K /
/// 8)][2][width][4].
struct PanelLayout {
  int64_t k = 0, n = 0, together = 1, rounded = 1, unit = 8,
          panel = 16;  // rounded: rows, and unit: columns, of a panel
  int64_t rows() const { return (k + rounded - 1) / rounded * rounded; }
  int64_t tiles() const { return (n + panel - 1) / panel; }
  int64_t width(int64_t tile) const {
    const int64_t to = lanes(tile) > kBlock ? 2 * kBlock : unit;
    return (lanes(tile) + to - 1) / to * to;
  }
  int64_t lanes(int64_t tile) const { return n - tile * panel < panel ? n - tile * panel : panel; }
  int64_t offset(int64_t tile) const { return tile * panel * rows(); }
  int64_t matrix_elements() const { return tiles() == 0 ? 0 : offset(tiles() - 1) + width(tiles() - 1) * rows(); }
};

/// Numpy rules; a lone b matrix under contiguous a batches is one taller product.
Result<MatMulShape> matmul_shape(const Shape& a, const Shape& b, const Shape& y);
Result<MatMulShape> gemm_shape(const Shape& a, const Shape& b, const Shape& y, bool trans_a, bool trans_b);

/// One tile of one b; zero_point is subtracted.
void pack_tile_s16(const MatMulShape& s, const PanelLayout& layout, const int8_t* b, int32_t zero_point, int64_t tile,
                   int16_t* out);
/// Without zero point; `sums` gets that of each column, modulo 2^32.
void pack_tile_bytes(const MatMulShape& s, const PanelLayout& layout, const int8_t* b, int64_t tile, int8_t* out,
                     int32_t* sums);
void pack_tile_f32(const MatMulShape& s, const PanelLayout& layout, const float* b, int64_t tile, float* out);

/// Gemm's c, broadcast to [M, N]: strides 0 along broadcast axes.
struct GemmAddend {
  bool present = false;
  int64_t row = 0, col = 0;
  float alpha = 1, beta = 1;
  bool plain() const { return alpha == 1 && beta == 1; }
};

struct MatMulParams {
  MatMulShape shape;
  PanelLayout layout;
  const void* packed = nullptr;   // nullptr: b is no constant, packed at every run
  int64_t rows = 0, strips = 0;   // rows of a an item, items down a matrix
  GemmAddend addend;              // float
  FloatClamp clamp{};             // float
  Epilogue epilogue{};            // int8
  std::vector<float> multiplier;  // int8, layout.panel a tile
  std::vector<int32_t> bias;      // int8, [distinct b][tile][layout.panel] in byte forms, else [tile][layout.panel]
  ProductForm form = ProductForm::kF32;
  bool float_output = true;
  ShortOutput short_output;
  int32_t zero_point_a = 0, zero_point_b = 0;
  ConvS8Fn gemm_s8 = nullptr;               // form kS16
  ConvByteFn gemm_bytes = nullptr;          // the dot-product forms
  ConvStepsFn gemm_steps = nullptr;         // form kSteps
  const StepCounts* step_counts = nullptr;  // [distinct b][tile]
  std::vector<int32_t> step_at;             // [distinct b][tile][step]: row of b a step begins with
  OffsetU8Fn offset = nullptr;
  ConvF32Fn gemm_f32 = nullptr;
  WidenS8Fn widen = nullptr;
  // Scratch: [packed b][per worker: rows of a (integer: as the form wants them, float: transposed), start values or
  // results to be rounded to int16]
  size_t packed_bytes = 0, a_bytes = 0, worker_bytes = 0;
};

Status run_matmul_s16(const Step& step, const RunContext& context);
Status run_matmul_s16_of_s16(const Step& step, const RunContext& context);  // int16 activations
Status run_matmul_bytes(const Step& step, const RunContext& context);
Status run_matmul_steps(const Step& step, const RunContext& context);
Status run_matmul_f32(const Step& step, const RunContext& context);

}  // namespace lq
