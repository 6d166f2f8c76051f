// Strided iteration for the operators in this folder: K operands walked together over one row-major index space.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel_types.h"
#include "runtime/op.h"

namespace lq {

inline constexpr int kMaxLoopDims = 16;  // after merging; Tile of a rank-8 tensor is the largest that occurs

/// Row-major strides, in elements.
inline std::vector<int64_t> row_major_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Strides of a contiguous tensor of `shape` seen as `out` by numpy broadcasting: as long as `out`, 0 along broadcast
/// axes. Requires that the shapes broadcast (checked by the shape functions).
inline std::vector<int64_t> broadcast_strides(const Shape& shape, const Shape& out) {
  std::vector<int64_t> own = row_major_strides(shape), strides(out.size(), 0);
  const size_t lead = out.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

/// Axis counted from the end -> from the front; the shape functions have checked the range.
inline size_t front_axis(int64_t axis, size_t rank) { return size_t(axis < 0 ? axis + int64_t(rank) : axis); }

/// Product of shape[begin, end).
inline int64_t dims_product(const Shape& shape, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= shape[i];
  return n;
}

inline int64_t channel_blocks(int64_t channels) { return (channels + kBlock - 1) / kBlock; }

/// Shape of the storage: the shape itself, or [N, ceil(C/8), spatial..., 8] of a blocked tensor.
inline Shape storage_shape(const Tensor& tensor) {
  Shape shape = tensor.shape;
  if (tensor.blocked_axis != 1) return shape;
  shape[1] = channel_blocks(shape[1]);
  shape.push_back(kBlock);
  return shape;
}
inline int64_t storage_elements(const Tensor& tensor) {
  const Shape shape = storage_shape(tensor);
  return dims_product(shape, 0, shape.size());
}

/// One index space and the element strides of K operands in it. Rank >= 1.
template <int K>
struct StridedLoop {
  int rank = 1;
  int64_t count = 1;  // elements of the space
  int64_t dims[kMaxLoopDims] = {1};
  int64_t strides[K][kMaxLoopDims] = {};
};

/// Drops axes of size 1 and merges neighbours that every operand walks as one. Fails above kMaxLoopDims.
template <int K>
Status make_loop(const Shape& dims, const std::array<std::vector<int64_t>, K>& strides, StridedLoop<K>& loop) {
  loop = {};
  loop.count = dims_product(dims, 0, dims.size());
  int rank = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    bool merge = rank > 0;
    for (int k = 0; k < K && merge; ++k) merge = loop.strides[k][rank - 1] == strides[k][axis] * dims[axis];
    if (!merge && rank == kMaxLoopDims) return unsupported("more than 16 independent axes");
    if (merge) {
      loop.dims[rank - 1] *= dims[axis];
    } else {
      loop.dims[rank++] = dims[axis];
    }
    for (int k = 0; k < K; ++k) loop.strides[k][rank - 1] = strides[k][axis];
  }
  loop.rank = std::max(rank, 1);
  return {};
}

/// Calls f(offsets, n) for runs of the innermost axis that cover elements [begin, end) in row-major order; offsets[k]
/// is operand k's element offset of the run's start.
template <int K, typename F>
void for_rows(const StridedLoop<K>& loop, int64_t begin, int64_t end, F&& f) {
  if (begin >= end) return;
  const int inner = loop.rank - 1;
  int64_t index[kMaxLoopDims], offsets[K] = {};
  for (int64_t d = inner, rest = begin; d >= 0; --d) {
    index[d] = rest % loop.dims[d];
    rest /= loop.dims[d];
    for (int k = 0; k < K; ++k) offsets[k] += index[d] * loop.strides[k][d];
  }
  while (true) {
    const int64_t n = std::min(end - begin, loop.dims[inner] - index[inner]);
    f(static_cast<const int64_t*>(offsets), n);
    begin += n;
    if (begin >= end) return;
    for (int k = 0; k < K; ++k) offsets[k] -= index[inner] * loop.strides[k][inner];
    index[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      for (int k = 0; k < K; ++k) offsets[k] += loop.strides[k][d];
      if (++index[d] < loop.dims[d]) break;
      for (int k = 0; k < K; ++k) offsets[k] -= loop.dims[d] * loop.strides[k][d];
      index[d] = 0;
    }
  }
}

/// f(begin, end, worker) over [0, count) on the pool, inline when it is one piece.
template <typename F>
void parallel(const RunContext& context, int64_t count, int64_t grain, F&& f) {
  if (count <= 0) return;
  if (context.pool == nullptr || count <= grain) {
    f(int64_t(0), count, 0);
  } else {
    context.pool->parallel_for(count, grain, f);
  }
}
inline constexpr int64_t kElementGrain = 16384;  // elements of a cheap loop worth waking a thread for

}  // namespace lq
