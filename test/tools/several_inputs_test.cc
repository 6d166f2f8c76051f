// A model with several inputs: its folder of samples has one sub-folder an input, which are no classes.
#include <gmock/gmock.h>

#include <filesystem>

#include "calibration/npy.h"
#include "format/model_file.h"
#include "passes/runtime_graphs.h"
#include "tool_runner.h"

namespace lq::test {
namespace {

class SeveralInputs : public ToolsTest {
 protected:
  void SetUp() override {
    ToolsTest::SetUp();
    testing::GraphBuilder g;
    const TensorId a = g.input("a", {1, 4}), b = g.input("b", {1, 4});
    g.output(g.node(Op::Add, {a, b}, {1, 4}));
    ASSERT_TRUE(write_model_file(g.model, path("sum.lqm")).ok());
    for (const char* input : {"a", "b"}) {
      std::filesystem::create_directories(path("samples/" + std::string(input)));
      for (int i = 0; i < 3; ++i) {
        const float values[] = {1.0f * float(i), 2, -3, 4};
        const std::string file = path("samples/" + std::string(input) + "/" + std::to_string(i) + ".npy");
        ASSERT_TRUE(calibration::write_npy(file, DType::Float32, {1, 4}, values).ok());
      }
    }
  }
};

TEST_F(SeveralInputs, AreComparedWithoutLabels) {
  const Outcome o = succeeds("lq-eval", {"sum.lqm", "--data", "samples", "--compare", "sum.lqm"});
  EXPECT_EQ(number_after(o.out, "agreement"), 1) << o.out;
  EXPECT_EQ(number_after(o.out, "n"), 3) << o.out;
}

TEST_F(SeveralInputs, HaveNoTop1) {
  fails("lq-eval", {"sum.lqm", "--data", "samples"}, {"one input, this one has 2", "--compare"});
  fails("lq-eval", {"sum.lqm", "--data", "samples", "--compare", "sum.lqm", "--labels", "l.tsv"}, {"one input"});
}

}  // namespace
}  // namespace lq::test
