// lq-eval --compare --layers: where two models part.
#include <gmock/gmock.h>

#include "tool_runner.h"

namespace lq::test {
namespace {

using ::testing::HasSubstr;

size_t layer_lines(const std::string& text) {
  size_t count = 0;
  for (const std::string& line : lines_of(text)) count += line.rfind("layer ", 0) == 0 ? 1 : 0;
  return count;
}

TEST_F(ToolsTest, LayersTellWhereTwoModelsPart) {
  succeeds("quantize", {"--float", "--preprocess", "raw", "-o", "float.lqm", kMnist});
  // Only the second convolution computes in int8. Its input, what the first pooling gives, is the first int8 value;
  // everything before is the float model, bit for bit.
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--skip", "^Convolution28$", "--skip", "^Times212$",
                        "--skip", "Pooling", "--skip", "ReLU", kMnist});
  const Outcome o = succeeds("lq-eval", {"mnist.lqm", "--data", kTest, "--max-samples", "40", "--compare", "float.lqm",
                                         "--layers", "--apart", "100", "--json", "layers.json"});
  EXPECT_GE(layer_lines(o.out), 4u) << o.out;
  EXPECT_EQ(number_after(line_with(o.out, "layer "), "layer"), 200) << o.out;  // equal
  EXPECT_THAT(line_with(o.out, "first layer below 100 dB"), HasSubstr("MaxPool Pooling66")) << o.out;
  EXPECT_THAT(read_text(path("layers.json")), HasSubstr("\"layers\""));

  const Outcome same =
      succeeds("lq-eval", {"float.lqm", "--data", kTest, "--max-samples", "10", "--compare", "float.lqm", "--layers"});
  EXPECT_NE(line_with(same.out, "no layer below 20 dB"), "") << same.out;
}

TEST_F(ToolsTest, LayersNeedAModelToCompareWith) {
  quantize_mnist();
  fails("lq-eval", {"mnist.lqm", "--data", kTest, "--layers"}, {"--layers", "--compare"});
}

}  // namespace
}  // namespace lq::test
