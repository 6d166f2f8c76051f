// QuantizeLinear, DequantizeLinear, Requantize and the layout conversions as operators.
#include "kernels/op_case.h"

namespace lq::test {
namespace {

QuantParams per_channel(DType dtype, int axis, std::vector<float> scales, std::vector<int32_t> zeros) {
  QuantParams q = per_tensor_params(dtype, 1, 0);
  q.granularity = schema::Granularity::PerChannel;
  q.axis = axis;
  q.scale = std::move(scales);
  q.zero_point = std::move(zeros);
  return q;
}

// ONNX's own vectors (onnx/backend/test/case/node/quantizelinear.py, dequantizelinear.py).
TEST(Quantize, OnnxVectors) {
  OpCase q(Op::QuantizeLinear);
  q.input<float>({6}, {0, 2, 3, 1000, -254, -1000}, false)
      .output(DType::UInt8, {6}, false, per_tensor_params(DType::UInt8, 2, 128));
  q.expect<uint8_t>({128, 129, 130, 255, 1, 0});

  const Shape shape = {1, 3, 3, 2};
  OpCase axis(Op::QuantizeLinear);
  axis.input<float>(shape, {-162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44, 245, -485, -960, -270, -375, -470},
                    false);
  axis.output(DType::UInt8, shape, false, per_channel(DType::UInt8, 1, {2, 4, 5}, {84, 24, 196}));
  axis.expect<uint8_t>({3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102});

  OpCase d(Op::DequantizeLinear);
  d.input<uint8_t>({4}, {0, 3, 128, 255}, false, per_tensor_params(DType::UInt8, 2, 128))
      .output(DType::Float32, {4}, false);
  d.expect<float>({-256, -250, 0, 254});
}

TEST(Quantize, EveryLayoutAndGranularity) {
  for (int64_t channels : {1, 3, 8, 13}) {
    for (int64_t spatial : {1, 5, 300}) {
      const Shape shape = {2, channels, spatial};
      const std::vector<float> x = random_f32(count_of(shape), uint32_t(channels + spatial), 300.0f);
      for (bool by_channel : {false, true}) {
        QuantParams q = s8(1.5f, -9, -120, 100);
        if (by_channel) {
          q = per_channel(DType::Int8, 1, {}, {});
          for (int64_t c = 0; c < channels; ++c) {
            q.scale.push_back(0.5f + float(c));
            q.zero_point.push_back(int32_t(c == 0 ? -9 : c * 3));
          }
        }
        std::vector<int8_t> y(x.size());
        std::vector<float> back(x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t c = (i / size_t(spatial)) % size_t(channels);
          y[i] = int8_t(quantize(x[i], scale_at(q, c), zero_point_at(q, c), q.qmin, q.qmax));
          back[i] = dequantize(y[i], scale_at(q, c), zero_point_at(q, c));
        }
        for (bool in : {false, true}) {
          for (bool out : {false, true}) {
            OpCase quant(Op::QuantizeLinear);
            quant.input(shape, x, in).output(DType::Int8, shape, out, q);
            quant.expect(y, "quantize");
            OpCase dequant(Op::DequantizeLinear);
            dequant.input(shape, y, in, q).output(DType::Float32, shape, out);
            dequant.expect(back, "dequantize");
          }
        }
      }
    }
  }
}

TEST(Quantize, SpecialValuesAndSixteenBits) {
  const float inf = std::numeric_limits<float>::infinity();
  OpCase q8(Op::QuantizeLinear);
  q8.input<float>({5}, {NAN, inf, -inf, 0.5f, 1.5f}, false).output(DType::Int8, {5}, false, s8(1, 3, -100, 90));
  q8.expect<int8_t>({-100, 90, -100, 3, 5});  // NaN -> qmin; ties to even before the zero point is added
  OpCase q16(Op::QuantizeLinear);
  q16.input<float>({5}, {NAN, 40000, -40000, 2.5f, -3.5f}, false)
      .output(DType::Int16, {5}, false, per_tensor_params(DType::Int16, 1, 0));
  q16.expect<int16_t>({-32768, 32767, -32768, 2, -4});
  OpCase u8(Op::QuantizeLinear);
  u8.input<float>({1, 3, 2}, {-1, 0, 1, 2, 3, 400}, false)
      .output(DType::UInt8, {1, 3, 2}, true, per_tensor_params(DType::UInt8, 2, 128));
  u8.expect<uint8_t>({128, 128, 128, 129, 130, 255});  // -0.5, 0.5 and 1.5 are ties
}

TEST(Quantize, BiasAndWeights) {
  OpCase bias(Op::DequantizeLinear);
  bias.constant<int32_t>({3}, {2147483647, -2147483647, 5}, per_channel(DType::Int32, 0, {0.25f, 0.5f, 2}, {0, 0, 0}));
  bias.output(DType::Float32, {3}, false).expect<float>({536870912.0f, -1073741824.0f, 10});
  OpCase weights(Op::DequantizeLinear);  // one scale an output column
  weights.constant<int8_t>({2, 3}, {1, 2, 3, -4, -5, -127}, per_channel(DType::Int8, 1, {1, 0.5f, 0.25f}, {}));
  weights.output(DType::Float32, {2, 3}, false).expect<float>({1, 1, 0.75f, -4, -2.5f, -31.75f});
}

TEST(Quantize, Requantize) {
  const Shape shape = {1, 11, 3, 3};
  const std::vector<int8_t> x = random_s8(count_of(shape), 6);
  const QuantParams from = s8(0.75f, -128), to = s8(1.1f, 20, -100, 127);
  const float m = float(double(0.75f) / double(1.1f));
  std::vector<int8_t> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = int8_t(requantize(x[i] + 128, m, 20, -100, 127));
  for (bool in : {false, true}) {
    for (bool out : {false, true}) {
      OpCase change(Op::Requantize);
      change.input(shape, x, in, from).output(DType::Int8, shape, out, to).expect(y);
      OpCase equal(Op::Requantize);
      equal.input(shape, x, in, from).output(DType::Int8, shape, out, from).expect(x);
    }
  }
  OpCase u8(Op::Requantize);  // the public uint8 form of an int8 tensor: +128
  u8.input<int8_t>({4}, {-128, -1, 0, 127}, false, s8(0.5f, -3))
      .output(DType::UInt8, {4}, false, per_tensor_params(DType::UInt8, 0.5f, 125));
  u8.expect<uint8_t>({0, 127, 128, 255});
}

TEST(Quantize, LayoutConversions) {
  for (int64_t channels : {1, 7, 8, 20}) {
    const Shape shape = {2, channels, 5, 7};
    const std::vector<int8_t> bytes = random_s8(count_of(shape), 7);
    const std::vector<float> floats = random_f32(count_of(shape), 8);
    const std::vector<int16_t> words(floats.begin(), floats.end());
    OpCase(Op::LayoutToBlocked)
        .input(shape, bytes, false, s8(1, -7))
        .output(DType::Int8, shape, true, s8(1, -7))
        .expect(bytes);
    OpCase(Op::LayoutToLinear)
        .input(shape, bytes, true, s8(1, -7))
        .output(DType::Int8, shape, false, s8(1, -7))
        .expect(bytes);
    OpCase(Op::LayoutToBlocked).input(shape, floats, false).output(DType::Float32, shape, true).expect(floats);
    OpCase(Op::LayoutToLinear).input(shape, floats, true).output(DType::Float32, shape, false).expect(floats);
    OpCase(Op::LayoutToBlocked).input(shape, words, false).output(DType::Int16, shape, true).expect(words);
    OpCase(Op::LayoutToLinear).input(shape, words, true).output(DType::Int16, shape, false).expect(words);
  }
}

TEST(Quantize, RefusesWhatItCannotDo) {
  OpCase missing(Op::QuantizeLinear);
  missing.input<float>({2}, {1, 2}, false).output(DType::Int8, {2}, false);
  EXPECT_FALSE(missing.run(Isa::kScalar, 1).ok());
  OpCase axis(Op::DequantizeLinear);
  axis.input<int8_t>({1, 2, 1}, {1, 2}, true, per_channel(DType::Int8, 0, {1}, {0}))
      .output(DType::Float32, {1, 2, 1}, false);
  EXPECT_EQ(axis.run(Isa::kScalar, 1).code(), StatusCode::kUnsupported);
  OpCase count(Op::DequantizeLinear);
  count.input<int8_t>({1, 2, 1}, {1, 2}, false, per_channel(DType::Int8, 1, {1, 1, 1}, {0, 0, 0}))
      .output(DType::Float32, {1, 2, 1}, false);
  EXPECT_FALSE(count.run(Isa::kScalar, 1).ok());
}

}  // namespace
}  // namespace lq::test
