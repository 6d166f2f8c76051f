// LayoutToBlocked and LayoutToLinear: [N, C, spatial…] <-> [N, ceil(C/8), spatial…, 8], elements of 1, 2 or 4 bytes.
#include "runtime/ops/blocked.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

constexpr int64_t kChunk = 1024;  // positions a piece: enough work for a thread, small enough to share a large plane

struct LayoutParams {
  const ElementwiseKernels* kernels = nullptr;
  BlockedShape shape;
  size_t size = 1;
  uint32_t fill = 0;
};

Status run_to_blocked(const Step& step, const RunContext& context) {
  const LayoutParams& p = step.params_as<LayoutParams>();
  const BlockedShape& s = p.shape;
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  const int64_t size = int64_t(p.size);
  for_block_pieces(context, s, kChunk, [&](int64_t n, int64_t block, int64_t first, int64_t count) {
    const uint8_t* rows = x + ((n * s.c + block * kBlock) * s.spatial + first) * size;
    uint8_t* out = y + ((n * s.blocks + block) * s.spatial + first) * kBlock * size;
    rows_to_block(*p.kernels, p.size, rows, s.spatial, channels_in(s, block), out, count, p.fill);
  });
  return {};
}

Status run_to_linear(const Step& step, const RunContext& context) {
  const LayoutParams& p = step.params_as<LayoutParams>();
  const BlockedShape& s = p.shape;
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  const int64_t size = int64_t(p.size);
  for_block_pieces(context, s, kChunk, [&](int64_t n, int64_t block, int64_t first, int64_t count) {
    const uint8_t* in = x + ((n * s.blocks + block) * s.spatial + first) * kBlock * size;
    uint8_t* rows = y + ((n * s.c + block * kBlock) * s.spatial + first) * size;
    block_to_rows(*p.kernels, p.size, in, rows, s.spatial, channels_in(s, block), count);
  });
  return {};
}

Status prepare_layout(OpPrepare& p) {
  const bool to_blocked = p.node.op == Op::LayoutToBlocked;
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  if (x.shape.size() < 2 || is_blocked(x) == to_blocked || is_blocked(y) != to_blocked) {
    return internal_error(std::string(op_name(p.node.op)) + " between tensors of the wrong layout");
  }
  LayoutParams& params = p.make_params<LayoutParams>();
  params.kernels = &elementwise_kernels(p.isa);
  params.shape = blocked_shape(x.shape);
  params.size = dtype_size(x.dtype);
  params.fill = lane_fill(y);
  const ElementwiseKernels& k = *params.kernels;
  switch (params.size) {
    case 1:
      p.set(to_blocked ? k.to_blocked_1.name : k.to_linear_1.name, k.to_linear_1.isa,
            to_blocked ? run_to_blocked : run_to_linear);
      return {};
    case 2:
      p.set(to_blocked ? "to_blocked_b2__scalar" : "to_linear_b2__scalar", Isa::kScalar,
            to_blocked ? run_to_blocked : run_to_linear);
      return {};
    case 4:
      p.set(to_blocked ? k.to_blocked_4.name : k.to_linear_4.name, k.to_linear_4.isa,
            to_blocked ? run_to_blocked : run_to_linear);
      return {};
    default:
      return unsupported(std::string("blocked layout of ") + dtype_name(x.dtype));
  }
}

constexpr OpRow kRows[] = {{Op::LayoutToBlocked, prepare_layout}, {Op::LayoutToLinear, prepare_layout}};

}  // namespace

const OpRowTable kLayoutRows = {kRows, int(std::size(kRows))};

void rows_to_block(const ElementwiseKernels& k, size_t size, const void* x, int64_t x_stride, int channels, void* y,
                   int64_t count, uint32_t fill) {
  if (size == 1) return k.to_blocked_1.run(x, x_stride, channels, y, count, fill);
  if (size == 4) return k.to_blocked_4.run(x, x_stride, channels, y, count, fill);
  const uint16_t* in = static_cast<const uint16_t*>(x);
  uint16_t* out = static_cast<uint16_t*>(y);
  for (int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < kBlock; ++c) out[i * kBlock + c] = c < channels ? in[c * x_stride + i] : uint16_t(fill);
  }
}

void block_to_rows(const ElementwiseKernels& k, size_t size, const void* x, void* y, int64_t y_stride, int channels,
                   int64_t count) {
  if (size == 1) return k.to_linear_1.run(x, y, y_stride, channels, count);
  if (size == 4) return k.to_linear_4.run(x, y, y_stride, channels, count);
  const uint16_t* in = static_cast<const uint16_t*>(x);
  uint16_t* out = static_cast<uint16_t*>(y);
  for (int c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < count; ++i) out[c * y_stride + i] = in[i * kBlock + c];
  }
}

void tensor_to_blocked(const ElementwiseKernels& k, size_t size, const void* x, void* y, const BlockedShape& s,
                       uint32_t fill) {
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t b = 0; b < s.blocks; ++b) {
      const uint8_t* rows = static_cast<const uint8_t*>(x) + (n * s.c + b * kBlock) * s.spatial * int64_t(size);
      uint8_t* out = static_cast<uint8_t*>(y) + (n * s.blocks + b) * s.spatial * kBlock * int64_t(size);
      rows_to_block(k, size, rows, s.spatial, channels_in(s, b), out, s.spatial, fill);
    }
  }
}

void tensor_to_linear(const ElementwiseKernels& k, size_t size, const void* x, void* y, const BlockedShape& s) {
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t b = 0; b < s.blocks; ++b) {
      const uint8_t* in = static_cast<const uint8_t*>(x) + (n * s.blocks + b) * s.spatial * kBlock * int64_t(size);
      uint8_t* rows = static_cast<uint8_t*>(y) + (n * s.c + b * kBlock) * s.spatial * int64_t(size);
      block_to_rows(k, size, in, rows, s.spatial, channels_in(s, b), s.spatial);
    }
  }
}

}  // namespace lq
