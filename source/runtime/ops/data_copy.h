// Moving elements without looking at them: strided copies, and gathers by one index table an axis. Every operator of
// data*.cc and nearest Resize is one of the two; only the element size matters, so int8 passes through unchanged.
#pragma once
#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/strided.h"

namespace lq {

/// One copy from step input `input` to step output `output`; loop.strides[0] is the destination, [1] the source.
struct CopyPart {
  size_t input = 0, output = 0;
  int64_t to_base = 0, from_base = 0;  // elements
  bool transposed = false;             // the last two axes form a matrix transpose, done in tiles
  StridedLoop<2> loop;
  StridedLoop<2> outer;  // transposed: the axes before those two
};

struct CopyParams : NamedParams {
  size_t element_size = 0;
  int64_t output_elements = 0;  // of output 0
  std::vector<CopyPart> parts;
  // Pad: the bytes every output element gets first. The value is a step input, or `fill_bytes` if there is none.
  bool fill = false;
  int fill_input = -1;
  uint8_t fill_bytes[8] = {};
};

/// Adds a copy over `dims` with the given strides and bases (elements) of `part` already set.
Status add_copy(CopyParams& params, CopyPart part, const Shape& dims, const std::vector<int64_t>& to,
                const std::vector<int64_t>& from);

/// Installs the copying kernel under `name`; all inputs and outputs copied have the dtype of output 0.
Status finish_copy(OpPrepare& p, CopyParams& params, const char* name);

/// y[i0, i1, …] = x[table0[i0] + table1[i1] + …], tables in elements of x; axes after the tables are `chunk` contiguous
/// elements.
struct AxisGatherParams : NamedParams {
  std::vector<std::vector<int64_t>> tables;
  int64_t chunk = 1;
  int64_t rows = 1;  // product of the table lengths but the last
  size_t element_size = 0;
};

/// Refuses outputs whose index tables would be unreasonably large (long axes of a hostile or empty tensor).
Status check_axis_gather(const Shape& output);
/// indices[d][i]: where along axis d of a row-major tensor of shape `from` output index i reads. Trailing axes that
/// read themselves are merged into the chunk.
void make_axis_gather(const Shape& from, const std::vector<std::vector<int64_t>>& indices, AxisGatherParams& params);
Status finish_axis_gather(OpPrepare& p, AxisGatherParams& params, const char* name);

// data_move.cc
Status prepare_concat(OpPrepare& p);
Status prepare_split(OpPrepare& p);
Status prepare_slice(OpPrepare& p);
Status prepare_transpose(OpPrepare& p);
Status prepare_expand(OpPrepare& p);
Status prepare_tile(OpPrepare& p);
Status prepare_depth_space(OpPrepare& p);
// data_pad.cc
Status prepare_pad(OpPrepare& p);
// data_gather.cc
Status prepare_gather(OpPrepare& p);

}  // namespace lq
