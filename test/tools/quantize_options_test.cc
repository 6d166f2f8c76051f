// Every option of quantize does what docs/CLI.md says, and the file it writes proves itself.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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

/// Every tensor of a file by name, from lq-inspect.
std::map<std::string, json> tensors_of(const Outcome& inspected) {
  std::map<std::string, json> tensors;
  const json all = json::parse(inspected.out, nullptr, false);
  for (const json& t : all["tensors"]) tensors[t["name"]] = t;
  return tensors;
}

// The digits' pixels lie in 0…255: one-sided. docs/CLI.md says what each mode and target makes of that.
TEST_F(QuantizeOptions, ActivationAndTargetDecideTheZeroPoint) {
  const struct {
    std::vector<std::string> options;
    int zero_point, qmin;
    double scale;
  } cases[] = {{{}, -128, -128, 1},
               {{"--activation", "auto"}, -128, -128, 1},
               {{"--activation", "asymmetric"}, -128, -128, 1},
               {{"--activation", "symmetric"}, 0, -128, 255.0 / 127},
               {{"--target", "any"}, -128, -128, 1},
               {{"--target", "avx2"}, 0, 0, 255.0 / 127}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.options.empty() ? "default" : c.options[1]);
    report(c.options);
    auto tensors = tensors_of(succeeds("lq-inspect", {"out.lqm", "--json", "--tensors"}));
    const json quant = tensors["Input3_q"]["quant"];
    EXPECT_EQ(quant["zero_point"], json::array({c.zero_point}));
    EXPECT_EQ(quant["qmin"], c.qmin);
    EXPECT_EQ(quant["qmax"], 127);
    EXPECT_NEAR(quant["scale"][0].get<double>(), c.scale, 1e-5);
  }
}

TEST_F(QuantizeOptions, WeightsShareOneScaleOrHaveTheirOwn) {
  for (const std::string mode : {"per-channel", "per-tensor"}) {
    report({"--weights", mode});
    auto tensors = tensors_of(succeeds("lq-inspect", {"out.lqm", "--json", "--tensors"}));
    const json scales = tensors["Parameter87_q"]["quant"]["scale"];
    std::set<double> distinct;
    for (const json& s : scales) distinct.insert(s.get<double>());
    if (mode == "per-tensor") {
      EXPECT_EQ(distinct.size(), 1u);
    } else {
      EXPECT_GT(distinct.size(), 8u);  // of 16 channels
    }
  }
}

/// The covered range of the first convolution's Relu. min/max covers every value; half of them do not reach half way.
TEST_F(QuantizeOptions, MethodDecidesTheThreshold) {
  std::map<std::string, double> top;
  for (const std::string method : {"minmax", "percentile", "percentile:50", "mse", "kl"}) {
    const json j = report({"--method", method});
    for (const json& node : j["nodes"]) {
      if (node["name"] == "ReLU32") top[method] = node["range"][1].get<double>();
    }
  }
  for (const auto& [method, value] : top) EXPECT_LE(value, top["minmax"]) << method;
  EXPECT_LT(top["percentile"], top["minmax"]);
  EXPECT_LT(top["percentile:50"], top["minmax"] / 2);
  EXPECT_EQ(report({})["options"], report({"--method", "auto"})["options"]);  // the default
}

/// 5,960 int8 weights, 34 channels of bias and scale (8 bytes each), and a graph of 8 operators.
TEST_F(QuantizeOptions, TheFileIsLittleMoreThanItsWeights) {
  EXPECT_LT(report({})["bytes_after"], 5960 + 34 * 8 + 8 * 400);
}

TEST_F(QuantizeOptions, MaxSamplesUsesThatMany) {
  EXPECT_EQ(report({"--max-samples", "7"})["samples_used"], 7);
  EXPECT_EQ(report({"--max-samples", "1000"})["samples_used"], 100);
}

TEST_F(QuantizeOptions, PreprocessingIsStoredInTheFile) {
  const auto stored = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"--calib", kCalib, "--max-samples", "2", "-o", "out.lqm", kMnist};
    arguments.insert(arguments.end(), options.begin(), options.end());
    succeeds("quantize", arguments);
    return line_with(succeeds("lq-inspect", {"out.lqm"}).out, "  preprocessing");
  };
  EXPECT_EQ(stored({"--mean", "10", "--std", "2", "--letterbox"}),
            "  preprocessing gray, letterbox 28x28, mean 10, std 2, nchw");
  EXPECT_EQ(stored({"--resize", "30x32", "--crop", "28x28", "--exif", "ignore", "--layout", "nchw", "--color", "gray"}),
            "  preprocessing gray, resize 30x32, crop 28x28, mean 0, std 1, nchw, exif ignored");
  write_text(path("own.json"), R"({"mean": [3], "std": [4]})");
  EXPECT_EQ(stored({"--preprocess", "own.json"}), "  preprocessing gray, mean 3, std 4, nchw");
}

TEST_F(QuantizeOptions, VerboseListsEveryOperator) {
  const std::vector<std::string> arguments = {"--calib", kCalib, "--max-samples", "2", "--preprocess", "raw", kMnist};
  std::vector<std::string> verbose = arguments;
  verbose.push_back("--verbose");
  const Outcome brief = succeeds("quantize", arguments), full = succeeds("quantize", verbose);
  EXPECT_EQ(brief.out.find("\n  Conv "), std::string::npos) << brief.out;
  EXPECT_NE(full.out.find("\n  Conv "), std::string::npos) << full.out;
  EXPECT_GT(lines_of(full.out).size(), lines_of(brief.out).size());
  EXPECT_NE(succeeds("quantize", {"--float", "--verbose", kMnist}).out.find("\n  Conv "), std::string::npos);
  verbose.push_back("--quiet");
  fails("quantize", verbose, {"--quiet", "--verbose"});
}

/// What would have no effect is refused, and so is what is not built.
TEST_F(QuantizeOptions, FloatExcludesWhatItWouldIgnore) {
  const std::pair<const char*, const char*> excluded[] = {
      {"--calib", "x"},    {"--max-samples", "3"},       {"--method", "kl"},         {"--activation", "auto"},
      {"--target", "any"}, {"--weights", "per-channel"}, {"--skip", "x"},            {"--export-qdq", "x.onnx"},
      {"--plan", "x"},     {"--save-plan", "x"},         {"--precision", "x=float"}, {"--max-drop", "1"}};
  for (const auto& [option, value] : excluded)
    fails("quantize", {"--float", option, value, kMnist}, {"--float", option});
  for (const char* option : {"--dump-repro"}) {
    fails("quantize", {"--calib", kCalib, kMnist, option, "1"}, {option});
  }
}

TEST_F(QuantizeOptions, ModelsThatAreQuantizedAlreadyAreRefused) {
  quantize_mnist();
  fails("quantize", {"--calib", kCalib, "mnist.lqm"}, {"mnist.lqm", "libquant model already"});
  fails("quantize", {"--float", "-o", "other.lqm", "mnist.lqm"}, {"mnist.lqm", "libquant model already"});
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--export-qdq", "qdq.onnx", "-o", "m.lqm", kMnist});
  fails("quantize", {"--calib", kCalib, "qdq.onnx"}, {"qdq.onnx", "quantized already", "--float"});
  // As it is: still int8.
  succeeds("quantize", {"--float", "--preprocess", "raw", "qdq.onnx"});
  EXPECT_GE(number_after(succeeds("lq-inspect", {"qdq.lqm"}).out, "int8_mac_share"), 0.99);
}

TEST_F(QuantizeOptions, InspectShowsTheKernelsOfTheAskedIsa) {
  quantize_mnist();
  const Outcome o = succeeds("lq-inspect", {"mnist.lqm", "--kernels", "--isa", "scalar"});
  EXPECT_NE(o.out.find("__scalar"), std::string::npos) << o.out;
  EXPECT_EQ(o.out.find("__avx2"), std::string::npos) << o.out;
  EXPECT_EQ(succeeds("lq-inspect", {"mnist.lqm"}).out.find("kernel "), std::string::npos);
  fails("lq-inspect", {"mnist.lqm", "--isa", "mmx"}, {"mmx", "scalar"});
}

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
