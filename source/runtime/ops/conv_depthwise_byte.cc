// Depthwise for processors that multiply bytes: the kernel reads the NCHWc8 planes itself, so there are no strips.
#include <algorithm>

#include "kernels/registry.h"
#include "runtime/ops/conv_depthwise.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/product_quant.h"
#include "runtime/ops/scratch.h"

namespace lq {
namespace {

struct DepthwiseByteParams {
  ConvShape shape;
  int64_t rows = 0, strips = 0;  // output rows an item, items a plane
  std::vector<float> multiplier;
  std::vector<int32_t> bias;
  bool float_output = true;
  DepthwiseByteFn kernel = nullptr;
  DepthwiseByteArgs args{};  // all that does not depend on the item
  const int8_t* packed = nullptr;
  int64_t block_bytes = 0;  // of packed weights
  size_t worker_bytes = 0;
};

int64_t quads_of(const ConvShape& s) { return (s.kh + 3) / 4; }

/// [block][row quad][kw][8][4]
void pack(const ConvShape& s, const int8_t* w, int8_t* out) {
  for (int64_t b = 0; b < s.in_blocks(); ++b) {
    for (int64_t q = 0; q < quads_of(s); ++q) {
      for (int64_t kw = 0; kw < s.kw; ++kw) {
        for (int64_t i = 0; i < kBlock; ++i) {
          const int64_t c = b * kBlock + i;
          for (int64_t kh = 4 * q; kh < 4 * q + 4; ++kh)
            *out++ = c < s.ic && kh < s.kh ? w[(c * s.kh + kh) * s.kw + kw] : int8_t(0);
        }
      }
    }
  }
}

Status run_depthwise_bytes(const Step& step, const RunContext& context) {
  const DepthwiseByteParams& d = step.params_as<DepthwiseByteParams>();
  const ConvShape& s = d.shape;
  const int8_t* x = context.input<int8_t>(step, 0);
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    DepthwiseByteArgs args = d.args;
    args.quads = context.scratch + size_t(worker) * d.worker_bytes;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / d.strips, block = plane % s.in_blocks(), row = i % d.strips * d.rows;
      args.x = x + plane * s.ih * s.iw * kBlock;
      args.first_row = int32_t(row * s.sh - s.pad_h);
      args.rows = int32_t(std::min(d.rows, s.oh - row));
      args.lanes = int32_t(std::min<int64_t>(kBlock, s.oc - block * kBlock));
      args.w = d.packed + block * d.block_bytes;
      args.epilogue.bias = d.bias.data() + block * kBlock;
      args.epilogue.multiplier = d.multiplier.data() + block * kBlock;
      const int64_t at = (plane * s.oh + row) * s.ow * kBlock;
      args.y = d.float_output ? static_cast<void*>(context.output<float>(step, 0) + at)
                              : static_cast<void*>(context.output<int8_t>(step, 0) + at);
      d.kernel(args);
      finish_piece(step, context, at, int64_t(args.rows) * s.ow * kBlock);
    }
  };
  context.pool->parallel_for(s.batch * s.in_blocks() * d.strips, grain_for(d.rows * s.ow * kBlock * s.kh * s.kw), work);
  return {};
}

}  // namespace

bool depthwise_bytes_fit(const ConvShape& s) {
  // The kernel counts in 32 bits: no position, inside the image or in its padding, may leave them.
  constexpr int64_t kMax = 1 << 28;
  if (s.oh <= 0 || s.ow <= 0) return false;  // without outputs there is no span
  const int64_t rows = depthwise_span(s.oh, s.sh, s.kh, s.dh), cols = depthwise_span(s.ow, s.sw, s.kw, s.dw);
  return rows < kMax && cols < kMax && s.pad_h < kMax && s.pad_w < kMax &&
         depthwise_scratch(cols, s.kh, s.kw) <= kMaxDepthwiseQuadBytes;
}

Status prepare_depthwise_bytes(OpPrepare& p, const ConvShape& s, const KernelRow& row, int32_t offset) {
  const Tensor &x = p.input(0), &w = p.input(1), &y = p.output(0);
  if (!w.is_constant()) return unsupported("int8 weights '" + w.name + "' must be a constant");
  DepthwiseByteParams& d = p.make_params<DepthwiseByteParams>();
  d.shape = s;
  DepthwiseByteArgs& a = d.args;
  LQ_ASSIGN_OR_RETURN(a.zero_point, activation_zero_point(x));
  LQ_ASSIGN_OR_RETURN(d.multiplier, product_multipliers(x, w, y, s.oc));
  LQ_ASSIGN_OR_RETURN(d.bias, product_bias(p, 2, s.oc));
  LQ_ASSIGN_OR_RETURN(a.epilogue, product_epilogue(p, y));
  d.multiplier.resize(size_t(s.out_blocks() * kBlock), 0.0f);
  d.bias.resize(size_t(s.out_blocks() * kBlock), 0);
  d.float_output = y.dtype == DType::Float32;
  const int8_t* source = w.data.as<int8_t>();
  for (int64_t c = 0; c < s.oc; ++c) {
    uint32_t sum = 0;
    for (int64_t t = 0; t < s.kh * s.kw; ++t) sum += uint32_t(int32_t(source[c * s.kh * s.kw + t]));
    d.bias[size_t(c)] = int32_t(uint32_t(d.bias[size_t(c)]) - uint32_t(a.zero_point + offset) * sum);
  }
  d.block_bytes = quads_of(s) * s.kw * 4 * kBlock;
  LQ_ASSIGN_OR_RETURN(const void* packed,
                      p.packs.get(p.pack_key("depthwise_bytes"), size_t(s.in_blocks() * d.block_bytes),
                                  [&](void* out) { pack(s, source, static_cast<int8_t*>(out)); }));
  d.packed = static_cast<const int8_t*>(packed);
  a.in_h = int32_t(s.ih), a.in_w = int32_t(s.iw), a.first_col = int32_t(-s.pad_w);
  a.taps_h = int32_t(s.kh), a.taps_w = int32_t(s.kw), a.dilation_h = int32_t(s.dh), a.dilation_w = int32_t(s.dw);
  a.stride_h = int32_t(s.sh), a.stride_w = int32_t(s.sw), a.cols = int32_t(s.ow), a.y_row = s.ow * kBlock;
  d.kernel = reinterpret_cast<DepthwiseByteFn>(row.fn);
  // Planes are cut only where there are too few of them for the threads.
  constexpr int64_t kPiecesPerThread = 4;
  const int64_t planes = std::max<int64_t>(1, s.batch * s.in_blocks());
  const int64_t wanted = p.threads > 1 ? (kPiecesPerThread * p.threads + planes - 1) / planes : 1;
  d.rows = std::max<int64_t>(1, (s.oh + wanted - 1) / wanted);
  d.strips = (s.oh + d.rows - 1) / d.rows;
  d.worker_bytes = align_up(size_t(depthwise_scratch(depthwise_span(s.ow, s.sw, s.kw, s.dw), s.kh, s.kw)));
  p.step.scratch_bytes = scratch_total(0, d.worker_bytes, p.threads);
  p.set(row.name, row.isa, run_depthwise_bytes);
  return {};
}

}  // namespace lq
