// QuantizeLinear, DequantizeLinear, Requantize: one parameter set or one a channel, linear or blocked on either side.
#include "kernels/s16_kernels.h"
#include "runtime/ops/blocked.h"
#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/quantized.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

constexpr int64_t kChunk = 256;  // positions converted at once where the layout changes: eight rows fit L1

/// Parameters of one channel. scale: s of Quantize and Dequantize, m of Requantize.
struct RowArgs {
  float scale = 1;
  int32_t zero_x = 0;
  RoundArgs round = {};
};
struct RowKernels {
  const ElementwiseKernels& s8;
  const S16Kernels& s16;
};
using RowFn = void (*)(const void* x, void* y, int64_t n, const RowArgs& args, const RowKernels& kernels);

template <typename T>
void quantize_row(const void* x, void* y, int64_t n, const RowArgs& a, const RowKernels& k) {
  if constexpr (std::is_same_v<T, int8_t>) {
    k.s8.quantize.run(static_cast<const float*>(x), static_cast<int8_t*>(y), n, {a.scale, a.round});
  } else if constexpr (std::is_same_v<T, int16_t>) {
    k.s16.quantize.run(static_cast<const float*>(x), static_cast<int16_t*>(y), n, {a.scale, a.round});
  } else {
    const float* in = static_cast<const float*>(x);
    for (int64_t i = 0; i < n; ++i) {
      const float v = clamp_nan_to_low(in[i] / a.scale, a.round.low, a.round.high);
      static_cast<T*>(y)[i] = T(int32_t(std::nearbyintf(v)) + a.round.zero_point);
    }
  }
}

template <typename T>
void dequantize_row(const void* x, void* y, int64_t n, const RowArgs& a, const RowKernels& k) {
  if constexpr (std::is_same_v<T, int8_t>) {
    k.s8.dequantize.run(static_cast<const int8_t*>(x), static_cast<float*>(y), n, a.scale, a.zero_x);
  } else {
    const T* in = static_cast<const T*>(x);
    if constexpr (std::is_same_v<T, int16_t>) {
      if (a.zero_x == 0) return k.s16.dequantize.run(in, static_cast<float*>(y), n, a.scale);
    }
    for (int64_t i = 0; i < n; ++i) {
      const int32_t d = int32_t(uint32_t(int32_t(in[i])) - uint32_t(a.zero_x));  // int32: zp is 0 in every valid bias
      static_cast<float*>(y)[i] = float(d) * a.scale;
    }
  }
}

/// R where a side is int16 and the other int8 or int16: int16 has zero point 0, int8 is widened or narrowed beside it.
template <typename X, typename Y>
void requantize_short_row(const X* x, Y* y, int64_t n, const RowArgs& a, const S16Kernels& k) {
  constexpr int64_t kPiece = 1024;
  int16_t wide_x[kPiece], wide_y[kPiece];
  RescaleArgs args{0, a.scale, a.round};
  args.round.zero_point = 0;
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t count = std::min(kPiece, n - at);
    const int16_t* in = wide_x;
    if constexpr (std::is_same_v<X, int8_t>) {
      k.widen.run(x + at, wide_x, count, a.zero_x);
    } else {
      in = x + at;
    }
    if constexpr (std::is_same_v<Y, int8_t>) {
      k.requantize.run(in, wide_y, count, args);
      k.narrow.run(wide_y, y + at, count, a.round.zero_point);
    } else {
      k.requantize.run(in, y + at, count, args);
    }
  }
}

template <typename X, typename Y>
void requantize_row(const void* x, void* y, int64_t n, const RowArgs& a, const RowKernels& k) {
  constexpr bool kShort = std::is_same_v<X, int16_t> || std::is_same_v<Y, int16_t>;
  constexpr bool kUnsigned = std::is_same_v<X, uint8_t> || std::is_same_v<Y, uint8_t>;
  if constexpr (std::is_same_v<X, int8_t> && std::is_same_v<Y, int8_t>) {
    k.s8.requantize.run(static_cast<const int8_t*>(x), static_cast<int8_t*>(y), n, {a.zero_x, a.scale, a.round});
  } else if constexpr (kShort && !kUnsigned) {
    requantize_short_row(static_cast<const X*>(x), static_cast<Y*>(y), n, a, k.s16);
  } else {
    const X* in = static_cast<const X*>(x);
    for (int64_t i = 0; i < n; ++i) {
      const float v = clamp_nan_to_low(float(int32_t(in[i]) - a.zero_x) * a.scale, a.round.low, a.round.high);
      static_cast<Y*>(y)[i] = Y(int32_t(std::nearbyintf(v)) + a.round.zero_point);
    }
  }
}

struct ConvertParams : NamedParams {
  const ElementwiseKernels* kernels = nullptr;
  const S16Kernels* s16 = nullptr;
  RowKernels row_kernels() const { return {*kernels, *s16}; }
  RowFn row = nullptr;
  std::vector<RowArgs> args;  // 1, or one a channel
  size_t x_size = 1, y_size = 1;
  bool x_blocked = false, y_blocked = false;
  BlockedShape shape;                          // where a side is blocked
  int64_t outer = 1, channels = 1, inner = 1;  // both linear: the tensor around the channel axis
  int64_t storage = 0;                         // elements, pad lanes included, where both sides have one layout
  uint32_t fill = 0;                           // of the output's pad lanes
};

/// One parameter set, one layout: the whole storage is a run.
void run_flat(const ConvertParams& p, const RunContext& context, const uint8_t* x, uint8_t* y) {
  parallel(context, p.storage, kElementGrain, [&](int64_t begin, int64_t end, int) {
    p.row(x + begin * int64_t(p.x_size), y + begin * int64_t(p.y_size), end - begin, p.args[0], p.row_kernels());
  });
  if (!p.y_blocked || p.shape.tail == kBlock) return;
  // The input's pad lanes may hold anything; the output's must not.
  if (p.y_size == 1) return restore_lanes(y, p.shape, uint8_t(p.fill));
  if (p.y_size == 4) return restore_lanes(reinterpret_cast<float*>(y), p.shape);
  for (int64_t n = 0; n < p.shape.n; ++n) {
    uint16_t* last = reinterpret_cast<uint16_t*>(y) + ((n + 1) * p.shape.blocks - 1) * p.shape.spatial * kBlock;
    for (int64_t i = 0; i < p.shape.spatial; ++i)
      std::fill(last + i * kBlock + p.shape.tail, last + (i + 1) * kBlock, uint16_t(p.fill));
  }
}

void requantize_piece(const Step& step, const RunContext& context, int64_t at, int64_t n) {
  const ConvertParams& p = step.params_as<ConvertParams>();
  uint8_t* y = context.output<uint8_t>(step, 0);
  p.row(context.input<uint8_t>(step, 0) + at, y + at, n, p.args[0], p.row_kernels());
  restore_lanes_of_piece(y, p.shape, uint8_t(p.fill), at, n);
}

void run_linear_channels(const ConvertParams& p, const RunContext& context, const uint8_t* x, uint8_t* y) {
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, p.inner));
  parallel(context, p.outer * p.channels, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const RowArgs& args = p.args[size_t(i % p.channels)];
      p.row(x + i * p.inner * int64_t(p.x_size), y + i * p.inner * int64_t(p.y_size), p.inner, args, p.row_kernels());
    }
  });
}

/// At least one side blocked: rows of up to 256 positions go through buffers that stay in L1.
void run_pieces(const ConvertParams& p, const RunContext& context, const uint8_t* x, uint8_t* y) {
  const BlockedShape& s = p.shape;
  const int64_t xs = int64_t(p.x_size), ys = int64_t(p.y_size);
  for_block_pieces(context, s, kChunk, [&](int64_t n, int64_t block, int64_t first, int64_t count) {
    alignas(64) uint8_t in_rows[kBlock * kChunk * 4], out_rows[kBlock * kChunk * 4];
    const int channels = channels_in(s, block);
    const int64_t linear = (n * s.c + block * kBlock) * s.spatial + first;
    const int64_t blocked = ((n * s.blocks + block) * s.spatial + first) * kBlock;
    const uint8_t* in = x + linear * xs;
    int64_t in_stride = s.spatial;
    if (p.x_blocked) {
      block_to_rows(*p.kernels, p.x_size, x + blocked * xs, in_rows, kChunk, channels, count);
      in = in_rows;
      in_stride = kChunk;
    }
    uint8_t* out = p.y_blocked ? out_rows : y + linear * ys;
    const int64_t out_stride = p.y_blocked ? kChunk : s.spatial;
    for (int c = 0; c < channels; ++c) {
      const RowArgs& args = p.args[p.args.size() == 1 ? 0 : size_t(block * kBlock + c)];
      p.row(in + c * in_stride * xs, out + c * out_stride * ys, count, args, p.row_kernels());
    }
    if (p.y_blocked) rows_to_block(*p.kernels, p.y_size, out_rows, kChunk, channels, y + blocked * ys, count, p.fill);
  });
}

Status run_convert(const Step& step, const RunContext& context) {
  const ConvertParams& p = step.params_as<ConvertParams>();
  const uint8_t* x = context.input<uint8_t>(step, 0);
  uint8_t* y = context.output<uint8_t>(step, 0);
  if (p.args.size() == 1 && p.x_blocked == p.y_blocked) {
    run_flat(p, context, x, y);
  } else if (!p.x_blocked && !p.y_blocked) {
    run_linear_channels(p, context, x, y);
  } else {
    run_pieces(p, context, x, y);
  }
  return {};
}

/// Fills what does not depend on the operator; `q` is the tensor whose parameters decide the channels.
Status fill_params(OpPrepare& p, ConvertParams& params, const QuantParams& q) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  params.kernels = &elementwise_kernels(p.isa);
  params.s16 = &s16_kernels(p.isa);
  params.x_size = dtype_size(x.dtype);
  params.y_size = dtype_size(y.dtype);
  params.x_blocked = is_blocked(x);
  params.y_blocked = is_blocked(y);
  params.storage = storage_elements(x);
  params.fill = lane_fill(y);
  const bool blocked = params.x_blocked || params.y_blocked;
  if (blocked) params.shape = blocked_shape(x.shape);
  if (q.granularity == schema::Granularity::PerTensor) return {};
  if (q.granularity != schema::Granularity::PerChannel) return unsupported("quantization per block or per token");
  const size_t rank = x.shape.size();
  if (q.axis < 0 || size_t(q.axis) >= rank || int64_t(q.scale.size()) != x.shape[size_t(q.axis)]) {
    return invalid_argument("tensor of shape " + shape_string(x.shape) + " with " + std::to_string(q.scale.size()) +
                            " scales on axis " + std::to_string(q.axis));
  }
  if (blocked && q.axis != 1)
    return unsupported("blocked layout with one scale a slice of axis " + std::to_string(q.axis));
  params.outer = dims_product(x.shape, 0, size_t(q.axis));
  params.channels = x.shape[size_t(q.axis)];
  params.inner = dims_product(x.shape, size_t(q.axis) + 1, rank);
  return {};
}

Status expect_quant(const Tensor& t) {
  if (t.quant && t.quant->dtype == t.dtype && !t.quant->scale.empty()) return {};
  return invalid_argument("tensor '" + t.name + "' (" + dtype_name(t.dtype) +
                          ") has no quantization parameters of its type");
}

Status expect_dtype(const Tensor& t, DType dtype) {
  if (t.dtype == dtype) return {};
  return unsupported("tensor '" + t.name + "' is " + dtype_name(t.dtype) + ", expected " + dtype_name(dtype));
}

Status finish(OpPrepare& p, ConvertParams& params, const char* verb, const Kernel<RowFn>& s8, bool is_s8,
              const Kernel<RowFn>& s16) {
  if (params.row == nullptr) {
    return unsupported(std::string(op_name(p.node.op)) + " from " + dtype_name(p.input(0).dtype) + " to " +
                       dtype_name(p.output(0).dtype));
  }
  if (is_s8) {
    p.set(s8.name, s8.isa, run_convert);
    return {};
  }
  const DType x = p.input(0).dtype, y = p.output(0).dtype;
  if ((x == DType::Int16 || y == DType::Int16) && x != DType::UInt8 && y != DType::UInt8) {
    p.set(s16.name, s16.isa, run_convert);
    return {};
  }
  params.kernel_name =
      std::string(verb) + "_" + short_dtype(p.input(0).dtype) + "_" + short_dtype(p.output(0).dtype) + "__scalar";
  p.set(params.kernel_name.c_str(), Isa::kScalar, run_convert);
  return {};
}

Status prepare_quantize(OpPrepare& p) {
  const Tensor& y = p.output(0);
  LQ_RETURN_IF_ERROR(expect_dtype(p.input(0), DType::Float32));
  LQ_RETURN_IF_ERROR(expect_quant(y));
  ConvertParams& params = p.make_params<ConvertParams>();
  LQ_RETURN_IF_ERROR(fill_params(p, params, *y.quant));
  for (size_t c = 0; c < y.quant->scale.size(); ++c)
    params.args.push_back({scale_at(*y.quant, c), 0, round_args(*y.quant, c)});
  switch (y.dtype) {
    case DType::Int8:
      params.row = quantize_row<int8_t>;
      break;
    case DType::UInt8:
      params.row = quantize_row<uint8_t>;
      break;
    case DType::Int16:
      params.row = quantize_row<int16_t>;
      break;
    case DType::UInt16:
      params.row = quantize_row<uint16_t>;
      break;
    default:
      break;
  }
  const auto& k = params.kernels->quantize;
  const auto& k16 = params.s16->quantize;
  return finish(p, params, "quantize", {k.name, k.isa, params.row}, y.dtype == DType::Int8,
                {k16.name, k16.isa, params.row});
}

Status prepare_dequantize(OpPrepare& p) {
  const Tensor& x = p.input(0);
  LQ_RETURN_IF_ERROR(expect_dtype(p.output(0), DType::Float32));
  LQ_RETURN_IF_ERROR(expect_quant(x));
  ConvertParams& params = p.make_params<ConvertParams>();
  LQ_RETURN_IF_ERROR(fill_params(p, params, *x.quant));
  for (size_t c = 0; c < x.quant->scale.size(); ++c)
    params.args.push_back({scale_at(*x.quant, c), zero_point_at(*x.quant, c), {}});
  switch (x.dtype) {
    case DType::Int8:
      params.row = dequantize_row<int8_t>;
      break;
    case DType::UInt8:
      params.row = dequantize_row<uint8_t>;
      break;
    case DType::Int16:
      params.row = dequantize_row<int16_t>;
      break;
    case DType::UInt16:
      params.row = dequantize_row<uint16_t>;
      break;
    case DType::Int32:
      params.row = dequantize_row<int32_t>;
      break;
    default:
      break;
  }
  const auto& k = params.kernels->dequantize;
  const auto& k16 = params.s16->dequantize;
  return finish(p, params, "dequantize", {k.name, k.isa, params.row}, x.dtype == DType::Int8,
                {k16.name, k16.isa, params.row});
}

template <typename X>
RowFn requantize_to(DType y) {
  switch (y) {
    case DType::Int8:
      return requantize_row<X, int8_t>;
    case DType::UInt8:
      return requantize_row<X, uint8_t>;
    case DType::Int16:
      return requantize_row<X, int16_t>;
    default:
      return nullptr;
  }
}

// R on (q − zp), m = s_x / s_y. Equal parameters need no case of their own: m = 1 gives q back exactly.
Status prepare_requantize(OpPrepare& p) {
  const Tensor& x = p.input(0);
  const Tensor& y = p.output(0);
  LQ_RETURN_IF_ERROR(expect_quant(x));
  LQ_RETURN_IF_ERROR(expect_quant(y));
  if (x.quant->scale.size() != 1 || y.quant->scale.size() != 1)
    return unsupported("Requantize with one scale a channel");
  ConvertParams& params = p.make_params<ConvertParams>();
  LQ_RETURN_IF_ERROR(fill_params(p, params, *y.quant));
  params.args.push_back({rescale_multiplier(scale_of(x), scale_of(y)), zero_of(x), round_args(*y.quant)});
  switch (x.dtype) {
    case DType::Int8:
      params.row = requantize_to<int8_t>(y.dtype);
      break;
    case DType::UInt8:
      params.row = requantize_to<uint8_t>(y.dtype);
      break;
    case DType::Int16:
      params.row = requantize_to<int16_t>(y.dtype);
      break;
    default:
      break;
  }
  const bool bytes = params.x_size == 1 && params.y_size == 1;
  if (bytes && params.x_blocked && params.y_blocked) p.step.piece = requantize_piece;
  const auto& k = params.kernels->requantize;
  const auto& k16 = params.s16->requantize;
  return finish(p, params, "requantize", {k.name, k.isa, params.row}, x.dtype == DType::Int8 && y.dtype == DType::Int8,
                {k16.name, k16.isa, params.row});
}

constexpr OpRow kRows[] = {{Op::QuantizeLinear, prepare_quantize},
                           {Op::DequantizeLinear, prepare_dequantize},
                           {Op::Requantize, prepare_requantize}};

}  // namespace

const OpRowTable kQuantRows = {kRows, int(std::size(kRows))};

}  // namespace lq
