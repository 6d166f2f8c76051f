#include "runtime/ops/matmul_plan.h"

#include "runtime/ops/product_quant.h"

namespace lq {
namespace {

Status mismatch(const Shape& a, const Shape& b, const Shape& y) {
  return invalid_argument("shapes " + shape_string(a) + " and " + shape_string(b) + " do not multiply to " +
                          shape_string(y));
}

/// Element offset of each batch's matrix in a tensor of shape `batch` + [rows, cols], broadcast to `full`.
std::vector<int64_t> batch_offsets(const Shape& full, const Shape& batch, int64_t matrix) {
  int64_t count = 1;
  for (int64_t d : full) count *= d;
  std::vector<int64_t> offsets(static_cast<size_t>(count), 0);
  int64_t stride = matrix, repeat = 1;
  for (size_t i = full.size(); i-- > 0;) {
    const size_t lead = full.size() - batch.size();
    const int64_t dim = i >= lead ? batch[i - lead] : 1;
    for (int64_t j = 0; dim > 1 && j < count; ++j) offsets[size_t(j)] += j / repeat % full[i] * stride;
    stride *= dim;
    repeat *= full[i];
  }
  return offsets;
}

}  // namespace

Result<MatMulShape> matmul_shape(const Shape& a_in, const Shape& b_in, const Shape& y) {
  if (a_in.empty() || b_in.empty()) return mismatch(a_in, b_in, y);
  Shape a = a_in, b = b_in;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  MatMulShape s;
  s.m = a[a.size() - 2], s.k = a.back(), s.n = b.back();
  if (b[b.size() - 2] != s.k) return mismatch(a_in, b_in, y);
  s.a_row = s.k, s.a_col = 1, s.b_row = s.n, s.b_col = 1;
  const Shape a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  LQ_ASSIGN_OR_RETURN(const Shape full, broadcast(a_batch, b_batch));
  const int64_t batches = element_count(full), b_count = element_count(b_batch);
  constexpr int64_t kMaxBatches = 1 << 22;  // each costs table entries
  if (batches > kMaxBatches || b_count > kMaxBatches)
    return unsupported(std::to_string(batches) + " matrices in a product");
  if (batches < 0 || b_count < 0 || element_count(y) != saturating_product({batches, s.m, s.n})) {
    return mismatch(a_in, b_in, y);
  }
  if (b_count == 1 && element_count(a_batch) == batches) {
    s.m *= batches;
    s.a_offset = {0}, s.b_index = {0}, s.b_offset = {0};
    return s;
  }
  s.a_offset = batch_offsets(full, a_batch, s.m * s.k);
  s.b_index = batch_offsets(full, b_batch, 1);
  for (int64_t i = 0; i < b_count; ++i) s.b_offset.push_back(i * s.k * s.n);
  return s;
}

Result<MatMulShape> gemm_shape(const Shape& a, const Shape& b, const Shape& y, bool trans_a, bool trans_b) {
  if (a.size() != 2 || b.size() != 2 || y.size() != 2) return mismatch(a, b, y);
  MatMulShape s;
  s.m = a[trans_a ? 1 : 0], s.k = a[trans_a ? 0 : 1], s.n = b[trans_b ? 0 : 1];
  if (b[trans_b ? 1 : 0] != s.k || y[0] != s.m || y[1] != s.n) return mismatch(a, b, y);
  s.a_row = trans_a ? 1 : s.k, s.a_col = trans_a ? s.m : 1;
  s.b_row = trans_b ? 1 : s.n, s.b_col = trans_b ? s.k : 1;
  s.a_offset = {0}, s.b_index = {0}, s.b_offset = {0};
  return s;
}

void pack_tile_s16(const MatMulShape& s, const PanelLayout& layout, const int8_t* b, int32_t zero_point, int64_t tile,
                   int16_t* out) {
  const int64_t width = layout.width(tile), lanes = layout.lanes(tile);
  b += tile * layout.panel * s.b_col;
  for (int64_t k = 0; k < layout.rows(); k += 2, out += 2 * width) {
    const int8_t *even = b + k * s.b_row, *odd = even + s.b_row;
    const bool has_odd = k + 1 < layout.k;
    for (int64_t l = 0; l < width; ++l) {
      out[2 * l] = l < lanes ? int16_t(even[l * s.b_col] - zero_point) : int16_t(0);
      out[2 * l + 1] = l < lanes && has_odd ? int16_t(odd[l * s.b_col] - zero_point) : int16_t(0);
    }
  }
}

void pack_tile_bytes(const MatMulShape& s, const PanelLayout& layout, const int8_t* b, int64_t tile, int8_t* out,
                     int32_t* sums) {
  const int64_t width = layout.width(tile), lanes = layout.lanes(tile);
  b += tile * layout.panel * s.b_col;
  for (int64_t l = 0; l < width; ++l) {
    uint32_t sum = 0;
    int8_t* to = out + layout.together * l;
    for (int64_t k = 0; k < layout.rows(); k += layout.together, to += layout.together * width) {
      for (int64_t i = 0; i < layout.together; ++i) {
        to[i] = l < lanes && k + i < layout.k ? b[(k + i) * s.b_row + l * s.b_col] : int8_t(0);
        sum += uint32_t(int32_t(to[i]));
      }
    }
    sums[l] = int32_t(sum);
  }
}

void pack_tile_f32(const MatMulShape& s, const PanelLayout& layout, const float* b, int64_t tile, float* out) {
  const int64_t width = layout.width(tile), lanes = layout.lanes(tile);
  b += tile * layout.panel * s.b_col;
  for (int64_t k = 0; k < layout.rows(); ++k, out += width) {
    for (int64_t l = 0; l < width; ++l) out[l] = l < lanes ? b[k * s.b_row + l * s.b_col] : 0.0f;
  }
}

}  // namespace lq
