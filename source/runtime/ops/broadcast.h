// Numpy broadcasting of up to three operands into one output, in linear or NCHWc8 storage. One loop description serves
// both layouts: a blocked tensor is walked as [N, ceil(C/8), spatial..., 8], and a linear operand that varies along the
// channel axis is re-laid as blocked first (constants once, in prepare; others in scratch, in every run).
#pragma once
#include "base/memory.h"
#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/strided.h"

namespace lq {

struct BroadcastOperand {
  Buffer packed;          // a constant re-laid as blocked; empty otherwise
  bool relayout = false;  // re-lay into scratch before the loop
  size_t scratch_offset = 0;
  size_t element_size = 0;
  Shape aligned;  // linear shape with leading ones, as long as the output's
};

/// loop.strides[0] is the output (always contiguous), [1 + i] input i.
struct BroadcastParams : NamedParams {
  StridedLoop<4> loop;
  BroadcastOperand operands[3];
  // Padding lanes to clear after the loop; channels % 8 == 0 when there are none.
  int64_t batch = 0, channels = 0, spatial = 0;
  size_t output_size = 0;  // bytes of an output element
};

/// Fills `params` for the node's output 0 and the inputs listed (at most three). Adds to step.scratch_bytes.
Status prepare_broadcast(OpPrepare& p, const std::vector<size_t>& inputs, BroadcastParams& params);

/// Bytes of operand i (input `input_index` of the step): as given, its packed form, or re-laid into scratch now.
const void* broadcast_operand(const BroadcastParams& params, size_t i, size_t input_index, const Step& step,
                              const RunContext& context);

/// Zeroes lanes >= channels of the last channel block.
void clear_padding_lanes(void* data, size_t element_size, int64_t batch, int64_t channels, int64_t spatial);

/// The common end of an elementwise run on blocked storage.
inline void finish_broadcast(const BroadcastParams& params, void* output) {
  if (params.channels % kBlock != 0) {
    clear_padding_lanes(output, params.output_size, params.batch, params.channels, params.spatial);
  }
}

}  // namespace lq
