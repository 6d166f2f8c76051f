#include "runtime/ops/broadcast.h"

#include <cstring>

namespace lq {
namespace {

// Linear [n, C, spatial] -> blocked [n, ceil(C/8), spatial, 8]; padding lanes are zero.
void pack_blocked(const uint8_t* from, uint8_t* to, size_t size, int64_t batch, int64_t channels, int64_t spatial) {
  const int64_t blocks = channel_blocks(channels);
  std::memset(to, 0, size_t(batch * blocks * spatial * kBlock) * size);
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t s = 0; s < spatial; ++s) {
        const int64_t target = ((n * blocks + c / kBlock) * spatial + s) * kBlock + c % kBlock;
        std::memcpy(to + size_t(target) * size, from + size_t((n * channels + c) * spatial + s) * size, size);
      }
    }
  }
}

void pack_operand(const BroadcastOperand& operand, const void* from, void* to) {
  const Shape& shape = operand.aligned;
  pack_blocked(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), operand.element_size, shape[0], shape[1],
               dims_product(shape, 2, shape.size()));
}

// Strides of an operand of logical shape `aligned` stored blocked, in the space [N, blocks, spatial..., 8] of the
// output.
std::vector<int64_t> blocked_strides(const Shape& aligned, int64_t out_channels) {
  Shape storage = aligned;
  storage[1] = channel_blocks(aligned[1]);
  storage.push_back(kBlock);
  std::vector<int64_t> strides = row_major_strides(storage);
  for (size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i] == 1) strides[i] = 0;
  }
  if (aligned[1] == 1 && out_channels != 1) strides.back() = 0;  // lane 0 holds the only channel
  return strides;
}

Status prepare_blocked_operand(OpPrepare& p, const Tensor& tensor, const Shape& out, BroadcastOperand& operand,
                               std::vector<int64_t>& strides) {
  operand.aligned = Shape(out.size() - tensor.shape.size(), 1);
  operand.aligned.insert(operand.aligned.end(), tensor.shape.begin(), tensor.shape.end());
  if (tensor.blocked_axis == 1) {
    if (tensor.shape.size() != out.size()) return internal_error("blocked operand of lower rank than the output");
    strides = blocked_strides(operand.aligned, out[1]);
    return {};
  }
  if (operand.aligned[1] == 1) {  // the same for every channel: read where it lies
    strides = broadcast_strides(operand.aligned, out);
    strides.push_back(0);
    return {};
  }
  strides = blocked_strides(operand.aligned, out[1]);
  Shape storage = operand.aligned;
  storage[1] = channel_blocks(storage[1]);
  const size_t bytes = size_t(dims_product(storage, 0, storage.size()) * kBlock) * operand.element_size;
  if (tensor.is_constant()) {
    LQ_ASSIGN_OR_RETURN(operand.packed, Buffer::allocate(bytes, "packed elementwise constant"));
    pack_operand(operand, tensor.data.data(), operand.packed.data());
  } else {
    operand.relayout = true;
    operand.scratch_offset = p.step.scratch_bytes;
    p.step.scratch_bytes += align_up(bytes);
  }
  return {};
}

}  // namespace

Status prepare_broadcast(OpPrepare& p, const std::vector<size_t>& inputs, BroadcastParams& params) {
  const Tensor& output = p.output(0);
  const bool blocked = output.blocked_axis == 1;
  params.output_size = dtype_size(output.dtype);
  const Shape space = storage_shape(output);
  std::array<std::vector<int64_t>, 4> strides;
  strides[0] = row_major_strides(space);
  for (size_t i = 0; i < 3; ++i) {
    if (i >= inputs.size()) {
      strides[i + 1].assign(space.size(), 0);
      continue;
    }
    const Tensor& tensor = p.input(inputs[i]);
    BroadcastOperand& operand = params.operands[i];
    operand.element_size = dtype_size(tensor.dtype);
    if (operand.element_size == 0) return unsupported(std::string("elements of type ") + dtype_name(tensor.dtype));
    if (blocked) {
      LQ_RETURN_IF_ERROR(prepare_blocked_operand(p, tensor, output.shape, operand, strides[i + 1]));
    } else {
      if (tensor.blocked_axis == 1) return internal_error("blocked input of a linear output");
      strides[i + 1] = broadcast_strides(tensor.shape, output.shape);
    }
  }
  if (blocked) {
    params.batch = output.shape[0];
    params.channels = output.shape[1];
    params.spatial = dims_product(output.shape, 2, output.shape.size());
  }
  return make_loop<4>(space, strides, params.loop);
}

const void* broadcast_operand(const BroadcastParams& params, size_t i, size_t input_index, const Step& step,
                              const RunContext& context) {
  const BroadcastOperand& operand = params.operands[i];
  const void* data = context.input<void>(step, input_index);
  if (operand.packed.size() != 0) return operand.packed.data();
  if (!operand.relayout) return data;
  uint8_t* scratch = context.scratch + operand.scratch_offset;
  pack_operand(operand, data, scratch);
  return scratch;
}

void clear_padding_lanes(void* data, size_t element_size, int64_t batch, int64_t channels, int64_t spatial) {
  const int64_t blocks = channel_blocks(channels), used = channels % kBlock;
  if (used == 0) return;
  const size_t pixel = size_t(kBlock) * element_size, skip = size_t(used) * element_size;
  for (int64_t n = 0; n < batch; ++n) {
    uint8_t* block = static_cast<uint8_t*>(data) + size_t((n * blocks + blocks - 1) * spatial) * pixel;
    for (int64_t s = 0; s < spatial; ++s) std::memset(block + size_t(s) * pixel + skip, 0, pixel - skip);
  }
}

}  // namespace lq
