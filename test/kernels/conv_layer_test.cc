// Conv and ConvTranspose layers against naive loops: random shapes, every ISA, several thread counts, poisoned lanes.
#include "kernels/cpu_features.h"
#include "quantized_conv.h"
#include "runtime/ops/conv_depthwise.h"

namespace lq::test {

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (int i = 0; i < kIsaCount; ++i) {
    if (is_isa_built(Isa(i)) && is_isa_supported(Isa(i))) isas.push_back(Isa(i));
  }
  return isas;
}

namespace {

int32_t naive_accumulator(const ConvCase& c, const QuantizedConv& q, int64_t n, int64_t o, int64_t y, int64_t x) {
  uint32_t acc = q.bias.empty() ? 0u : uint32_t(q.bias[size_t(o)]);
  const int32_t zp = q.qx.zero_point[0];
  for_each_term(c, n, o, y, x, [&](int64_t w, int64_t at) {
    if (at >= 0) acc += uint32_t((q.x[size_t(at)] - zp) * q.w[size_t(w)]);  // padding is zp, so it adds 0
  });
  return int32_t(acc);
}

std::vector<int8_t> naive_int8(const ConvCase& c, const QuantizedConv& q) {
  std::vector<int8_t> out;
  for_each_output(c, [&](int64_t n, int64_t o, int64_t y, int64_t x) {
    const float m = requantize_multiplier(q.qx.scale[0], scale_at(q.qw, size_t(o)), q.qy.scale[0]);
    out.push_back(int8_t(requantize(naive_accumulator(c, q, n, o, y, x), m, q.qy.zero_point[0], q.qy.qmin, q.qy.qmax)));
  });
  return out;
}

std::vector<float> naive_float_of_int8(const ConvCase& c, const QuantizedConv& q) {
  std::vector<float> out;
  for_each_output(c, [&](int64_t n, int64_t o, int64_t y, int64_t x) {
    const float m = float(double(q.qx.scale[0]) * double(scale_at(q.qw, size_t(o))));
    out.push_back(naive_clamp(float(naive_accumulator(c, q, n, o, y, x)) * m, q.clamp));
  });
  return out;
}

void check_quantized(const ConvCase& c, const QuantizedConv& q) {
  for (Isa isa : runnable_isas()) {
    for (int threads : {1, 3}) {
      SCOPED_TRACE(c.text() + "isa " + std::to_string(int(isa)) + " threads " + std::to_string(threads));
      Layer layer = quantized_layer(c, q, threads == 1 ? int8_t(-128) : int8_t(127));
      Step step;
      if (q.float_output) {
        ASSERT_TRUE(same_bits(layer.run<float>(isa, threads, &step), naive_float_of_int8(c, q)));
      } else {
        ASSERT_TRUE(same_bits(layer.run<int8_t>(isa, threads, &step), naive_int8(c, q)));
      }
      EXPECT_TRUE(step.integer);
      EXPECT_TRUE(runs_on(step.isa, isa)) << int(step.isa);
      const int64_t spatial = c.transposed ? c.h * c.w : c.oh() * c.ow();
      EXPECT_EQ(step.macs, c.n * c.oc * c.icg() * c.kh * c.kw * spatial);
    }
  }
}

void run_quantized_cases(int count, uint32_t seed, bool transposed) {
  Random r(seed);
  for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    const ConvCase c = random_conv(r, transposed);
    check_quantized(c, random_quantized(r, c));
  }
}

TEST(ConvS8, RandomShapes) { run_quantized_cases(300, 1, false); }
TEST(ConvTransposeS8, RandomShapes) { run_quantized_cases(150, 2, true); }

// All operands extreme, 64 channels, 3×3: int16 accumulators would overflow after two products.
TEST(ConvS8, ExtremeOperandsAreExact) {
  ConvCase c;
  c.ic = 64, c.oc = 16, c.h = c.w = 5, c.kh = c.kw = 3, c.top = c.left = c.bottom = c.right = 1;
  for (int8_t xv : {int8_t(-128), int8_t(127)}) {
    for (int32_t zp : {-128, 0, 127}) {
      QuantizedConv q;
      q.x.assign(size_t(c.x_count()), xv), q.w.assign(size_t(c.w_count()), int8_t(-127));
      q.qx = per_tensor_params(DType::Int8, 1.0f, zp);
      q.qw = per_channel_weights({1.0f}, 0);
      q.float_output = true;
      // An inner output is 576 · (xv − zp) · −127, below 2^25 and a multiple of 2^6: exact as a float.
      Layer layer = quantized_layer(c, q, 99);
      for (Isa isa : runnable_isas()) EXPECT_EQ(layer.run<float>(isa, 1)[12], float(576 * (xv - zp) * -127));
      check_quantized(c, q);
    }
  }
}

// 210·−81 + 198·−80 + 234·127 = −3132: the first pair alone leaves int16 where activations are unsigned bytes. uint8
// values with zero point 0 are int8 ones with zero point −128.
TEST(ConvS8, PairSumsBeyondInt16) {
  ConvCase c;
  c.ic = 3;
  QuantizedConv q;
  q.x = {int8_t(210 - 128), int8_t(198 - 128), int8_t(234 - 128)}, q.w = {-81, -80, 127};
  q.qx = per_tensor_params(DType::Int8, 1.0f, -128);
  q.qw = per_channel_weights({1.0f}, 0);
  q.float_output = true;
  Layer layer = quantized_layer(c, q, 0);
  for (Isa isa : runnable_isas()) EXPECT_EQ(layer.run<float>(isa, 1), std::vector<float>{-3132.0f});
}

// Sums outside int32 wrap; the order of the terms doesn't matter then.
TEST(ConvS8, AccumulatorsWrap) {
  ConvCase c;
  c.ic = 40, c.oc = 9;
  QuantizedConv q;
  q.x.assign(40, 127), q.w.assign(size_t(c.w_count()), 127), q.bias.assign(9, INT32_MAX);
  q.qx = per_tensor_params(DType::Int8, 1.0f, -128);
  q.qw = per_channel_weights({1.0f}, 0);
  q.float_output = true;
  Layer layer = quantized_layer(c, q, 0);
  const float wrapped = float(int32_t(uint32_t(INT32_MAX) + 40u * 255u * 127u));
  for (Isa isa : runnable_isas()) EXPECT_EQ(layer.run<float>(isa, 1), std::vector<float>(9, wrapped));
}

struct FloatConv {
  std::vector<float> x, w, bias;
  std::optional<ValueRange> clamp;
  bool constant_weights = true, constant_bias = true;
};

std::vector<float> naive_float(const ConvCase& c, const FloatConv& f) {
  std::vector<float> out;
  for_each_output(c, [&](int64_t n, int64_t o, int64_t y, int64_t x) {
    float acc = f.bias.empty() ? 0.0f : f.bias[size_t(o)];
    for_each_term(c, n, o, y, x, [&](int64_t w, int64_t at) {
      if (at >= 0) acc = std::fmaf(f.x[size_t(at)], f.w[size_t(w)], acc);
    });
    out.push_back(naive_clamp(acc + 0.0f, f.clamp));
  });
  return out;
}

Layer float_layer(const ConvCase& c, const FloatConv& f) {
  Layer layer(op_of(c));
  c.set_attrs(layer.node());
  layer.input<float>(c.x_shape(), f.x, true, std::numeric_limits<float>::quiet_NaN());
  if (f.constant_weights) {
    layer.constant<float>(c.w_shape(), f.w);
  } else {
    layer.input<float>(c.w_shape(), f.w, false);
  }
  if (!f.bias.empty()) {
    if (f.constant_bias) {
      layer.constant<float>({c.oc}, f.bias);
    } else {
      layer.input<float>({c.oc}, f.bias, false);
    }
  }
  layer.output(DType::Float32, c.y_shape(), true);
  layer.node().fused_clamp = f.clamp;
  return layer;
}

void run_float_cases(int count, uint32_t seed, bool transposed) {
  Random r(seed);
  for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    const ConvCase c = random_conv(r, transposed);
    FloatConv f{r.floats(c.x_count()), r.floats(c.w_count()), {}, {}, !r.chance(20), !r.chance(20)};
    if (r.chance(70)) f.bias = r.floats(c.oc);
    if (r.chance(40))
      f.clamp = r.chance(50) ? ValueRange{0.0f, std::numeric_limits<float>::infinity()} : ValueRange{0.1f, 0.6f};
    const std::vector<float> want = naive_float(c, f);
    for (Isa isa : runnable_isas()) {
      for (int threads : {1, 3}) {
        SCOPED_TRACE(c.text() + "isa " + std::to_string(int(isa)) + " threads " + std::to_string(threads));
        Step step;
        ASSERT_TRUE(same_bits(float_layer(c, f).run<float>(isa, threads, &step), want));
        EXPECT_FALSE(step.integer);
        EXPECT_EQ(step.isa, find_kernel("conv_f32", isa)->isa);  // scalar where there is no fused multiply-add
      }
    }
  }
}

TEST(ConvF32, RandomShapes) { run_float_cases(200, 3, false); }
TEST(ConvTransposeF32, RandomShapes) { run_float_cases(120, 4, true); }

// The example of the ONNX specification of Conv: 0…24 as 5×5, a 3×3 kernel of ones, pads 1.
TEST(ConvF32, SpecificationExample) {
  ConvCase c;
  c.h = c.w = 5, c.kh = c.kw = 3, c.top = c.left = c.bottom = c.right = 1;
  FloatConv f{{}, std::vector<float>(9, 1.0f), {}, {}};
  for (int i = 0; i < 25; ++i) f.x.push_back(float(i));
  const std::vector<float> want = {12,  21, 27, 33,  24,  33,  54,  63, 72,  51,  63,  99, 108,
                                   117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84};
  for (Isa isa : runnable_isas()) EXPECT_EQ(float_layer(c, f).run<float>(isa, 1), want);
}

// The example of the ONNX specification of ConvTranspose: 0…8 as 3×3, two output channels of ones.
TEST(ConvTransposeF32, SpecificationExample) {
  ConvCase c;
  c.transposed = true;
  c.oc = 2, c.h = c.w = 3, c.kh = c.kw = 3;
  FloatConv f{{}, std::vector<float>(18, 1.0f), {}, {}};
  for (int i = 0; i < 9; ++i) f.x.push_back(float(i));
  std::vector<float> want = {0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8};
  want.insert(want.end(), want.begin(), want.begin() + 25);
  for (Isa isa : runnable_isas()) EXPECT_EQ(float_layer(c, f).run<float>(isa, 1), want);
}

// inf in one group must not make NaN in another through a zero weight; a clamp turns NaN into its low bound.
TEST(ConvF32, NonFiniteValuesStayInTheirGroup) {
  ConvCase c;
  c.ic = c.groups = 4, c.oc = 8, c.h = c.w = 2;
  FloatConv f{std::vector<float>(16, 1.0f), std::vector<float>(8, 1.0f), {}, {}};
  f.x[0] = std::numeric_limits<float>::infinity();
  f.x[4] = std::numeric_limits<float>::quiet_NaN();
  for (Isa isa : runnable_isas()) {
    const std::vector<float> y = float_layer(c, f).run<float>(isa, 1);
    EXPECT_TRUE(std::isinf(y[0]) && std::isinf(y[4]));
    EXPECT_TRUE(std::isnan(y[8]) && std::isnan(y[12]));
    for (size_t i = 16; i < 32; ++i) EXPECT_EQ(y[i], 1.0f);
    f.clamp = ValueRange{0.0f, 6.0f};
    const std::vector<float> clamped = float_layer(c, f).run<float>(isa, 1);
    EXPECT_EQ(clamped[0], 6.0f);
    EXPECT_EQ(clamped[8], 0.0f);
    f.clamp.reset();
  }
}

TEST(Conv, ClearErrors) {
  const auto message = [](Layer layer) {
    SimplePacks packs;
    Step step;
    const Status status = layer.prepare(Isa::kScalar, 1, step, packs);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  ConvCase c;
  c.ic = c.oc = 4, c.h = c.w = 3;
  FloatConv f{std::vector<float>(36), std::vector<float>(16), {}, {}};
  Layer linear = float_layer(c, f);
  linear.tensor(linear.node().inputs[0]).blocked_axis = -1;
  EXPECT_NE(message(std::move(linear)).find("NCHWc8"), std::string::npos);
  Layer rank2(Op::Conv);
  rank2.input<float>({4, 4}, std::vector<float>(16), false);
  rank2.constant<float>({4, 4}, std::vector<float>(16));
  rank2.output(DType::Float32, {4, 4}, false);
  EXPECT_NE(message(std::move(rank2)).find("1-D and 2-D"), std::string::npos);
  f.bias.assign(4, 0.0f);
  Layer bias = float_layer(c, f);
  bias.tensor(bias.node().inputs[2]).shape = {3};
  EXPECT_NE(message(std::move(bias)).find("expected float32 of 4"), std::string::npos);
  ConvCase hostile = c;  // a dilation that would need a strip of 2^40 pixels
  hostile.kh = hostile.kw = 2, hostile.dh = hostile.dw = 1 << 20, hostile.top = hostile.left = 1 << 20;
  FloatConv g{std::vector<float>(36), std::vector<float>(64), {}, {}};
  EXPECT_NE(message(float_layer(hostile, g)).find("dilations this large"), std::string::npos);
}

/// A layer without outputs has no span to lay out: the byte kernels must not be asked (their scratch would be
/// negative).
TEST(DepthwiseS8, NothingToComputeIsNotForByteKernels) {
  ConvShape s{};
  s.batch = 1, s.ic = s.oc = s.groups = 8, s.icg = s.ocg = 1, s.ih = 5;
  s.kh = s.kw = s.sh = s.sw = s.dh = s.dw = 1;
  for (const auto& [oh, ow] : {std::pair<int64_t, int64_t>{5, 0}, {0, 5}, {0, 0}}) {
    s.oh = oh, s.ow = ow;
    EXPECT_FALSE(depthwise_bytes_fit(s));
  }
  s.oh = s.ow = s.iw = 5;
  EXPECT_TRUE(depthwise_bytes_fit(s));
  s.sw = int64_t(1) << 40;  // positions beyond 32 bits
  EXPECT_FALSE(depthwise_bytes_fit(s));
}

/// Only weights of at least −127 may meet smull: the qmin of their tensor decides.
TEST(ProductForms, WeightsOfMinus128StayInInt16) {
  Tensor x, w;
  x.dtype = DType::Int8;
  w.quant = per_tensor_params(DType::Int8, 1.0f, 0);
  w.quant->qmin = -128;
  for (Isa isa : runnable_isas()) {
    ProductForm form{};
    integer_product_kernel("conv", isa, x, w, StoredRange{0, 127}, &form);
    EXPECT_EQ(form, ProductForm::kS16);
  }
  w.quant->qmin = -127;
  ProductForm form{};
  const KernelRow* row = integer_product_kernel("conv", best_isa(), x, w, StoredRange{}, &form);
  // Those before AVX-VNNI have no byte products for any x.
  EXPECT_EQ(is_byte_form(form), row->isa != Isa::kScalar && row->isa != Isa::kSse41 && row->isa != Isa::kAvx2);
}

}  // namespace
}  // namespace lq::test
