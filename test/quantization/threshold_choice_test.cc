// Which threshold a tensor gets: by its own values, by each sample's range, or by what the layer behind it makes of it.
#include "quantization/output_error.h"

#include <algorithm>

#include "quantizer_fixture.h"

namespace lq::quantization {
namespace {

class ThresholdChoice : public test::QuantizerFixture {
 protected:
  /// 64 samples [1, 2, 4, 8] in ±1; the first one holds 50 once, in channel 0.
  void write_samples_with_an_outlier() {
    for (int i = 0; i < 64; ++i) {
      std::vector<float> values = test::noise(64, uint32_t(i + 1));
      if (i == 0) values[5] = 50;
      const std::string path = (folder_ / ("s" + std::to_string(100 + i) + ".npy")).string();
      ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 2, 4, 8}, values.data()).ok());
    }
  }
  /// Largest value that the input of a 1 × 1 convolution with these weights of the two channels keeps.
  double input_limit(float of_first, float of_second, const std::string& method) {
    test::GraphMaker m;
    const TensorId w = m.constant("w", {2, 2, 1, 1}, {of_first, of_second, 0.5f * of_first, -of_second});
    m.output(m.node(Op::Conv, "y", {m.input("x", {1, 2, 4, 8}), w}, schema::ConvAttrsT()));
    m.finish();
    QuantizeOptions o = options();
    o.method = method;
    const QuantizeReport report = quantized(m, o);
    EXPECT_EQ(report.tensors.size(), 1u);
    return report.tensors.empty() ? 0 : report.tensors[0].max;
  }
};

TEST_F(ThresholdChoice, AutoJudgesByTheResultOfTheNextLayer) {
  write_samples_with_an_outlier();
  // Nobody looks at channel 0: its outlier goes, and channel 1 gets fifty times finer steps.
  EXPECT_LT(input_limit(0, 1, "auto"), 2);
  // Everybody looks at it: one error of 49 weighs more than steps of 50/127.
  EXPECT_GT(input_limit(1, 0.01f, "auto"), 45);
  // The tensor's own squared error cannot tell the two apart.
  EXPECT_EQ(input_limit(0, 1, "mse"), input_limit(1, 0.01f, "mse"));
}

TEST_F(ThresholdChoice, EmaFollowsTheSamplesRanges) {
  for (int i = 0; i < 3; ++i) {
    std::vector<float> values(64, 0.0f);
    values[3] = float(i + 1), values[9] = -1;
    const std::string path = (folder_ / ("s" + std::to_string(i) + ".npy")).string();
    ASSERT_TRUE(calibration::write_npy(path, DType::Float32, {1, 2, 4, 8}, values.data()).ok());
  }
  EXPECT_EQ(input_limit(1, 1, "ema:0"), 3);
  EXPECT_EQ(input_limit(1, 1, "ema:1"), 1);
  EXPECT_EQ(input_limit(1, 1, "ema:0.5"), 2.25);  // 1, 1.5, 2.25
  EXPECT_EQ(input_limit(1, 1, "minmax"), 3);
}

/// x -> convolution by the identity -> `op` r, which one more convolution reads. Range of r with a method that would
/// cut the outlier of 50 off.
class Results : public ThresholdChoice {
 protected:
  enum class How { kInside, kOutput, kBehindPool };

  ValueRange range_of_result(Op op, How how) {
    test::GraphMaker m;
    const std::vector<float> identity{1, 0, 0, 1};
    const TensorId w = m.constant("w", {2, 2, 1, 1}, identity), v = m.constant("v", {2, 2, 1, 1}, identity);
    std::vector<TensorId> inputs{m.node(Op::Conv, "p", {m.input("x", {1, 2, 4, 8}), w}, schema::ConvAttrsT())};
    if (op == Op::Clip) inputs.insert(inputs.end(), {m.constant("low", {}, {-2}), m.constant("high", {}, {60})});
    const TensorId r = m.node(op, "r", inputs);
    m.output(m.node(Op::Conv, "y", {r, v}, schema::ConvAttrsT()));
    if (how == How::kOutput) m.output(r);
    if (how == How::kBehindPool) {
      schema::PoolAttrsT pool;
      pool.kernel_shape = {2, 2};
      m.output(m.node(Op::MaxPool, "pooled", {r}, pool));
    }
    m.finish();
    QuantizeOptions o = options();
    o.method = "percentile:99";
    for (const auto& tensor : quantized(m, o).tensors) {
      if (std::count(tensor.names.begin(), tensor.names.end(), "r") > 0) return {float(tensor.min), float(tensor.max)};
    }
    ADD_FAILURE() << "r has no int8 form";
    return {};
  }
};

TEST_F(Results, AreNeverClipped) {
  write_samples_with_an_outlier();
  EXPECT_LT(range_of_result(Op::Relu, How::kInside).max, 2);
  EXPECT_EQ(range_of_result(Op::Relu, How::kOutput).max, 50);
  EXPECT_EQ(range_of_result(Op::Relu, How::kBehindPool).max, 50);
}

TEST_F(Results, OfAClipTakeItsBounds) {
  write_samples_with_an_outlier();
  EXPECT_LT(range_of_result(Op::Clip, How::kInside).max, 2);
  for (const How how : {How::kOutput, How::kBehindPool}) {
    const ValueRange range = range_of_result(Op::Clip, how);
    EXPECT_EQ(range.min, -2);
    EXPECT_EQ(range.max, 60);
  }
}

}  // namespace
}  // namespace lq::quantization
