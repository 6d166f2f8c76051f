#include "runtime/ops/data_copy.h"

#include <cstring>

namespace lq {
namespace {

constexpr int64_t kTile = 32;          // of the matrix transpose: 32 × 32 floats are 4 KB, two of them stay in L1
constexpr int64_t kMinTransposed = 4;  // shorter axes gain nothing from tiles

// Copies one matrix: to[i · to_stride + j] = from[i + j · from_stride].
template <typename T>
void transpose_tiles(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
  for (int64_t j0 = 0; j0 < columns; j0 += kTile) {
    const int64_t j1 = std::min(j0 + kTile, columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = j0; j < j1; ++j) to[i * to_stride + j] = from[i + j * from_stride];
    }
  }
}

template <typename T>
void copy_transposed(const CopyPart& part, T* to, const T* from, const RunContext& context) {
  const StridedLoop<2>& loop = part.loop;
  const int row = loop.rank - 2, column = loop.rank - 1;
  const int64_t rows = loop.dims[row], tiles = (rows + kTile - 1) / kTile;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / (kTile * loop.dims[column]));
  parallel(context, part.outer.count * tiles, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t i0 = unit % tiles * kTile, outer = unit / tiles;
      for_rows(part.outer, outer, outer + 1, [&](const int64_t* at, int64_t) {
        transpose_tiles(to + at[0] + i0 * loop.strides[0][row], loop.strides[0][row], from + at[1] + i0,
                        loop.strides[1][column], std::min(kTile, rows - i0), loop.dims[column]);
      });
    }
  });
}

template <typename T>
void copy_part(const CopyPart& part, T* to, const T* from, const RunContext& context) {
  if (part.transposed) return copy_transposed(part, to, from, context);
  const StridedLoop<2>& loop = part.loop;
  const int64_t to_stride = loop.strides[0][loop.rank - 1], from_stride = loop.strides[1][loop.rank - 1];
  parallel(context, loop.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for_rows(loop, begin, end, [&](const int64_t* at, int64_t n) {
      T* y = to + at[0];
      const T* x = from + at[1];
      if (to_stride == 1 && from_stride == 1) {
        std::memcpy(y, x, size_t(n) * sizeof(T));
      } else if (to_stride == 1 && from_stride == 0) {
        std::fill(y, y + n, *x);
      } else {
        for (int64_t i = 0; i < n; ++i) y[i * to_stride] = x[i * from_stride];
      }
    });
  });
}

template <typename T>
Status run_copy(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<CopyParams>();
  if (params.fill) {
    T value;
    std::memcpy(&value, params.fill_bytes, sizeof(T));
    if (params.fill_input >= 0) value = *context.input<T>(step, size_t(params.fill_input));
    T* y = context.output<T>(step, 0);
    parallel(context, params.output_elements, kElementGrain,
             [&](int64_t begin, int64_t end, int) { std::fill(y + begin, y + end, value); });
  }
  for (const CopyPart& part : params.parts) {
    T* to = context.output<T>(step, part.output);
    if (to == nullptr) continue;  // an output of Split nobody wants
    copy_part(part, to + part.to_base, context.input<T>(step, part.input) + part.from_base, context);
  }
  return {};
}

template <typename T>
Status run_axis_gather(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<AxisGatherParams>();
  const T* x = context.input<T>(step, 0);
  T* y = context.output<T>(step, 0);
  const std::vector<int64_t>& inner = params.tables.back();
  const int64_t row_size = int64_t(inner.size()) * params.chunk;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, row_size));
  parallel(context, params.rows, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const T* from = x;
      int64_t rest = row;
      for (size_t d = params.tables.size() - 1; d-- > 0;) {
        const std::vector<int64_t>& table = params.tables[d];
        from += table[size_t(rest % int64_t(table.size()))];
        rest /= int64_t(table.size());
      }
      T* to = y + row * row_size;
      if (params.chunk == 1) {
        for (size_t i = 0; i < inner.size(); ++i) to[i] = from[inner[i]];
      } else {
        for (size_t i = 0; i < inner.size(); ++i) {
          std::memcpy(to + int64_t(i) * params.chunk, from + inner[i], size_t(params.chunk) * sizeof(T));
        }
      }
    }
  });
  return {};
}

// A source axis of stride 1 that isn't the innermost: swap it next to the innermost, so that tiles read and write short
// runs of both. The order of a copy's axes is free.
void find_transpose(CopyPart& part) {
  StridedLoop<2>& loop = part.loop;
  const int column = loop.rank - 1;
  if (loop.rank < 2 || loop.strides[0][column] != 1 || loop.strides[1][column] <= 1) return;
  if (loop.dims[column] < kMinTransposed) return;
  for (int d = 0; d < column; ++d) {
    if (loop.strides[1][d] != 1 || loop.dims[d] < kMinTransposed) continue;
    for (int e = d; e + 1 < column; ++e) {
      std::swap(loop.dims[e], loop.dims[e + 1]);
      for (auto& strides : loop.strides) std::swap(strides[e], strides[e + 1]);
    }
    part.transposed = true;
    break;
  }
  if (!part.transposed) return;
  part.outer = loop;
  part.outer.rank = std::max(loop.rank - 2, 1);
  if (loop.rank == 2) {
    part.outer.dims[0] = 1;
    part.outer.strides[0][0] = part.outer.strides[1][0] = 0;
  }
  part.outer.count = loop.count / (loop.dims[column] * loop.dims[column - 1]);
}

}  // namespace

Status add_copy(CopyParams& params, CopyPart part, const Shape& dims, const std::vector<int64_t>& to,
                const std::vector<int64_t>& from) {
  LQ_RETURN_IF_ERROR(make_loop<2>(dims, {to, from}, part.loop));
  if (part.loop.count == 0) return {};
  find_transpose(part);
  params.parts.push_back(part);
  return {};
}

Status finish_copy(OpPrepare& p, CopyParams& params, const char* name) {
  size_t o = 0;
  while (!p.has_output(o) && o + 1 < p.node.outputs.size()) ++o;
  const Tensor& y = p.output(o);
  params.element_size = dtype_size(y.dtype);
  params.output_elements = storage_elements(y);
  for (const CopyPart& part : params.parts) {
    if (p.input(part.input).dtype != y.dtype) return invalid_argument("inputs and outputs must have the same type");
  }
  return set_kernel(p, params, name, y.dtype, for_element_size(params.element_size, [](auto tag) -> RunFn {
                      return &run_copy<typename decltype(tag)::type>;
                    }));
}

Status check_axis_gather(const Shape& output) {
  constexpr int64_t kMaxEntries = int64_t(1) << 27;  // 1 GB of tables
  for (int64_t dim : output) {
    if (dim > kMaxEntries)
      return unsupported("an axis of " + std::to_string(dim) + " elements is too long for index tables");
  }
  return {};
}

void make_axis_gather(const Shape& from, const std::vector<std::vector<int64_t>>& indices, AxisGatherParams& params) {
  const std::vector<int64_t> strides = row_major_strides(from);
  size_t kept = from.size();
  while (kept > 0) {
    const std::vector<int64_t>& axis = indices[kept - 1];
    bool identity = int64_t(axis.size()) == from[kept - 1];
    for (size_t i = 0; i < axis.size() && identity; ++i) identity = axis[i] == int64_t(i);
    if (!identity) break;
    params.chunk *= from[--kept];
  }
  params.tables.assign(indices.begin(), indices.begin() + int64_t(kept));
  for (size_t d = 0; d < kept; ++d) {
    for (int64_t& at : params.tables[d]) at *= strides[d];
  }
  if (params.tables.empty()) params.tables.push_back({0});
  for (size_t d = 0; d + 1 < params.tables.size(); ++d) params.rows *= int64_t(params.tables[d].size());
}

Status finish_axis_gather(OpPrepare& p, AxisGatherParams& params, const char* name) {
  params.element_size = dtype_size(p.output(0).dtype);
  return set_kernel(p, params, name, p.output(0).dtype, for_element_size(params.element_size, [](auto tag) -> RunFn {
                      return &run_axis_gather<typename decltype(tag)::type>;
                    }));
}

}  // namespace lq
