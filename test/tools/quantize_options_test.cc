// Every option of quantize does what docs/CLI.md says, and the file it writes proves itself.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "onnx/model_maker.h"
#include "tools/tool_runner.h"

namespace lq::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class QuantizeOptions : public ToolsTest {
 protected:
  /// quantize on mnist with `more` options, report in out.json; the file is out.lqm.
  json report(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"--calib", kCalib,   "--preprocess", "raw", "-o",
                                          "out.lqm", "--json", "out.json",     kMnist};
    arguments.insert(arguments.end(), more.begin(), more.end());
    succeeds("quantize", arguments);
    return json::parse(read_text(path("out.json")), nullptr, false);
  }
};

TEST_F(QuantizeOptions, TheFileCarriesAGoldenTestThatRuns) {
  quantize_mnist();
  for (const std::string isa : {"scalar", ""}) {
    std::vector<std::string> arguments = {"mnist.lqm", "--check", "--threads", "2"};
    if (!isa.empty()) arguments.insert(arguments.end(), {"--isa", isa});
    EXPECT_EQ(succeeds("lq-run", arguments).out, "golden ok\n");
  }
  fails("lq-run", {kMnist, "--check"}, {"mnist.onnx", "no golden self-test"});
  fails("lq-run", {"mnist.lqm", "--check", "--top", "3"}, {"--check", "--top"});
}

/// An input of a type that no generator exists for.
TEST_F(QuantizeOptions, WithoutAGoldenRunTheFileIsWrittenAndToolsSaySo) {
  ModelMaker m(13);
  m.input("x", {1, 3}, onnx::TensorProto::INT16);
  set_int(m.node("Cast", {"x"}, {"y"}, "cast"), "to", onnx::TensorProto::FLOAT);
  m.output("y");
  write_text(path("short.onnx"), m.serialized());
  const Outcome o = succeeds("quantize", {"--float", "short.onnx"});
  EXPECT_NE(o.out.find("warning: the file carries no golden self-test"), std::string::npos) << o.out;
  EXPECT_EQ(line_with(succeeds("lq-inspect", {"short.lqm"}).out, "golden"), "golden none");
  fails("lq-run", {"short.lqm", "--check"}, {"short.lqm", "no golden self-test"});
}

}  // namespace
}  // namespace lq::test
