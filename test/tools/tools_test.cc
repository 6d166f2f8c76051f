// The main job on examples/mnist, typed as a user types it. Expected accuracy: the float model classifies 396 of the
// 400 test digits in ONNX Runtime too.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "kernels/cpu_features.h"
#include "tools/tool_runner.h"

namespace lq::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::vector<std::string> kTools = {"quantize", "lq-run", "lq-eval", "lq-benchmark", "lq-inspect"};
constexpr double kFloatTop1 = 0.99;
constexpr double kLargestDrop = 0.003 + 1e-9;

json parsed(const std::string& text) {
  const json j = json::parse(text, nullptr, false);
  EXPECT_FALSE(j.is_discarded()) << text.substr(0, 200);
  return j;
}

TEST_F(ToolsTest, HelpAndVersionOfEveryTool) {
  for (const std::string& tool : kTools) {
    const Outcome help = succeeds(tool, {"--help"}), version = succeeds(tool, {"--version"});
    EXPECT_NE(help.out.find("MODEL"), std::string::npos);
    EXPECT_NE(help.out.find("--input-shape"), std::string::npos);
    EXPECT_TRUE(std::regex_match(version.out, std::regex(tool + R"( \d+\.\d+\.\d+\n)"))) << version.out;
    EXPECT_EQ(help.err + version.err, "");
    fails(tool, {kMnist, "--no-such-option"}, {"--no-such-option", "--help"});
    fails(tool, {}, {"MODEL"});
    fails(tool, {kMnist, "one-word-too-many"}, {"one-word-too-many"});
  }
}

TEST_F(ToolsTest, QuantizeWritesModelAndReport) {
  const Outcome o = succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--json", "report.json", kMnist});
  EXPECT_TRUE(exists("mnist.lqm"));  // default name, current folder
  EXPECT_NE(o.out.find("samples used 100 skipped 0"), std::string::npos) << o.out;
  EXPECT_GE(number_after(o.out, "int8_mac_share"), 0.99);
  const json report = parsed(read_text(path("report.json")));
  EXPECT_EQ(report["samples_used"], 100);
  EXPECT_EQ(report["bytes_before"], fs::file_size(kMnist));
  EXPECT_EQ(report["bytes_after"], fs::file_size(path("mnist.lqm")));
  EXPECT_EQ(files().size(), 2u) << "no temporary file stays";
}

TEST_F(ToolsTest, QuietPrintsNothingAndProgressStaysOffStdout) {
  const Outcome quiet = succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--quiet", kMnist});
  EXPECT_EQ(quiet.out + quiet.err, "");
  const Outcome eval = succeeds("lq-eval", {"mnist.lqm", "--data", kTest});
  EXPECT_EQ(lines_of(eval.out).size(), 1u) << eval.out;
}

TEST_F(ToolsTest, SameBytesForAnyThreadCountAndFolderOrder) {
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(kCalib)) names.push_back(entry.path().filename());
  std::sort(names.rbegin(), names.rend());
  make_folder("reversed");
  for (const auto& name : names) fs::copy_file(fs::path(kCalib) / name, fs::path(path("reversed")) / name);
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--threads", "1", "-o", "one.lqm", kMnist});
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--threads", "2", "-o", "two.lqm", kMnist});
  succeeds("quantize", {"--calib", "reversed", "--preprocess", "raw", "--threads", "2", "-o", "reversed.lqm", kMnist});
  const std::string one = read_text(path("one.lqm"));
  EXPECT_GT(one.size(), 1000u);
  EXPECT_TRUE(one == read_text(path("two.lqm")));
  EXPECT_TRUE(one == read_text(path("reversed.lqm")));
}

TEST_F(ToolsTest, EvalPrintsAccuracyAndAgreement) {
  quantize_mnist();
  const Outcome f = succeeds("lq-eval", {kMnist, "--preprocess", "raw", "--data", kTest});
  EXPECT_EQ(f.out.substr(0, 12), "top1 0.9900 ") << f.out;
  const Outcome q = succeeds("lq-eval", {"mnist.lqm", "--data", kTest, "--compare", kMnist, "--json", "eval.json"});
  EXPECT_TRUE(std::regex_match(line_with(q.out, "top1"), std::regex(R"(top1 \d\.\d{4} top5 \d\.\d{4} n 400)")))
      << q.out;
  EXPECT_TRUE(std::regex_match(line_with(q.out, "agreement"),
                               std::regex(R"(agreement \d\.\d{4} sqnr_db -?\d+\.\d kl \d+\.\d{4})")))
      << q.out;
  EXPECT_GE(number_after(q.out, "top1"), kFloatTop1 - kLargestDrop);
  EXPECT_GE(number_after(q.out, "agreement"), 0.99);
  const json j = parsed(read_text(path("eval.json")));
  EXPECT_EQ(j["n"], 400);
  EXPECT_TRUE(j["compare"]["agreement"].is_number());
  EXPECT_EQ(succeeds("lq-eval", {"mnist.lqm", "--data", kTest, "--threads", "1"}).out,
            succeeds("lq-eval", {"mnist.lqm", "--data", kTest, "--threads", "2"}).out);
  EXPECT_NE(succeeds("lq-eval", {"mnist.lqm", "--data", kTest, "--max-samples", "50"}).out.find(" n 50\n"),
            std::string::npos);
}

TEST_F(ToolsTest, RunPrintsWritesAndCompares) {
  quantize_mnist();
  const std::string image = kTest + "/0000.png";  // a 7, says labels.tsv
  const Outcome o =
      succeeds("lq-run", {"mnist.lqm", "--input", image, "--top", "3", "--output-dir", "out", "--dump-all", "all"});
  EXPECT_NE(o.out.find("output Plus214_Output_0 float32 [1,10]"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("  1. index 7 "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("  3. index "), std::string::npos);
  EXPECT_EQ(o.out.find("  4. index "), std::string::npos);
  ASSERT_TRUE(exists("out/Plus214_Output_0.npy"));
  EXPECT_EQ(read_text(path("out/Plus214_Output_0.npy")), read_text(path("all/Plus214_Output_0.npy")));
  EXPECT_GT(std::distance(fs::directory_iterator(path("all")), fs::directory_iterator()), 4);
  const Outcome same = succeeds("lq-run", {"mnist.lqm", "--input", "Input3=" + image, "--expect",
                                           "Plus214_Output_0=out/Plus214_Output_0.npy", "--atol", "0", "--rtol", "0"});
  EXPECT_NE(same.out.find("largest_difference 0 "), std::string::npos) << same.out;
  // Another digit gives other numbers.
  const Outcome other = fails(
      "lq-run", {"mnist.lqm", "--input", kTest + "/0001.png", "--expect", "Plus214_Output_0=out/Plus214_Output_0.npy"},
      {"outside the tolerance", "Plus214_Output_0"});
  EXPECT_EQ(other.code, 1);
  EXPECT_GT(number_after(other.out, "largest_difference"), 1);
}

TEST_F(ToolsTest, ProfileNamesTheKernelsOfTheAskedIsa) {
  quantize_mnist();
  for (const std::string isa : {"scalar", "avx2"}) {
    if (isa == "avx2" && !is_isa_supported(Isa::kAvx2)) {
      std::printf("1 case skipped: this processor has no AVX2\n");
      continue;
    }
    const Outcome o = succeeds("lq-run", {"mnist.lqm", "--input", kTest + "/0000.png", "--profile", "--isa", isa});
    EXPECT_TRUE(std::regex_search(o.out, std::regex("\nConv +conv_s8_[a-z0-9_]*__" + isa + " "))) << o.out;
    EXPECT_GE(number_after(o.out, "mac_share_" + isa), 0.95);
    if (isa == "scalar") {
      EXPECT_EQ(o.out.find("__avx2"), std::string::npos);
    }
  }
}

TEST_F(ToolsTest, BenchmarkPrintsTheFixedLine) {
  quantize_mnist();
  const std::regex line(R"(latency_ms min \d+\.\d+ median \d+\.\d+ p90 \d+\.\d+ p99 \d+\.\d+)");
  for (const std::string& model : {std::string("mnist.lqm"), kMnist}) {
    const Outcome o =
        succeeds("lq-benchmark", {model, "--iterations", "20", "--warmup", "1", "--profile", "--json", "bench.json"});
    const std::string latency = line_with(o.out, "latency_ms");
    EXPECT_TRUE(std::regex_match(latency, line)) << o.out;
    EXPECT_LE(number_after(latency, "min"), number_after(latency, "median"));
    EXPECT_LE(number_after(latency, "median"), number_after(latency, "p99"));
    EXPECT_TRUE(std::regex_search(o.out, std::regex("\nConv +conv_"))) << o.out;
    const json j = parsed(read_text(path("bench.json")));
    EXPECT_EQ(j["iterations"], 20);
    EXPECT_GT(j["weight_bytes"], 1000);
    EXPECT_GT(j["peak_rss_bytes"], 1000);
  }
}

TEST_F(ToolsTest, InspectShowsOperatorsKernelsTensorsAndGraph) {
  quantize_mnist();
  const Outcome o = succeeds("lq-inspect", {"mnist.lqm", "--kernels", "--tensors", "--dot", "graph.dot"});
  EXPECT_TRUE(std::regex_match(line_with(o.out, "int8_mac_share"), std::regex(R"(int8_mac_share \d\.\d{4})"))) << o.out;
  EXPECT_GE(number_after(o.out, "int8_mac_share"), 0.99);
  EXPECT_NE(line_with(o.out, "operators int8:").find(" Conv 2"), std::string::npos) << o.out;
  EXPECT_NE(line_with(o.out, "  preprocessing").find("gray"), std::string::npos);
  EXPECT_NE(line_with(o.out, "kernel ").find("__"), std::string::npos);
  EXPECT_NE(o.out.find("tensor Input3 float32 [1,1,28,28]"), std::string::npos);
  const std::string dot = read_text(path("graph.dot"));
  EXPECT_EQ(dot.rfind("digraph ", 0), 0u);
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  const json j = parsed(succeeds("lq-inspect", {"mnist.lqm", "--json"}).out);
  EXPECT_GE(j["int8_mac_share"].get<double>(), 0.99);
  EXPECT_FALSE(j["steps"].empty());
  EXPECT_EQ(number_after(succeeds("lq-inspect", {kMnist}).out, "int8_mac_share"), 0);
}

TEST_F(ToolsTest, ExportedQdqModelRunsAndAgrees) {
  succeeds("quantize", {"--calib", kCalib, "--preprocess", "raw", "--export-qdq", "qdq.onnx", kMnist});
  const Outcome o =
      succeeds("lq-run", {"qdq.onnx", "--preprocess", "raw", "--input", kTest + "/0000.png", "--top", "1"});
  EXPECT_NE(o.out.find("  1. index 7 "), std::string::npos) << o.out;
  // Read back by our own importer it is the same explicit graph: the same top-1 on every image.
  const Outcome eval =
      succeeds("lq-eval", {"qdq.onnx", "--preprocess", "raw", "--data", kTest, "--compare", "mnist.lqm"});
  EXPECT_EQ(number_after(eval.out, "agreement"), 1.0) << eval.out;
  fails("quantize", {"--calib", kCalib, "qdq.onnx"}, {"qdq.onnx", "quantized already"});
}

TEST_F(ToolsTest, FloatConvertsOnly) {
  succeeds("quantize", {"--float", "--preprocess", "raw", "-o", "float.lqm", kMnist});
  const Outcome o = succeeds("lq-eval", {"float.lqm", "--data", kTest, "--compare", kMnist});
  EXPECT_EQ(number_after(o.out, "top1"), kFloatTop1) << o.out;
  EXPECT_EQ(number_after(o.out, "agreement"), 1.0);
  // Folding rounds weights anew: float32 keeps 24 bits, 6.02 dB each, less what a few layers add up.
  EXPECT_GE(number_after(o.out, "sqnr_db"), 120) << o.out;
  EXPECT_EQ(number_after(succeeds("lq-inspect", {"float.lqm"}).out, "int8_mac_share"), 0);
}

// An exclude list that crashes, or is silently ignored, is a known fault of other quantizers.
TEST_F(ToolsTest, SkipKeepsTheNamedNodesInFloat) {
  succeeds("quantize",
           {"--calib", kCalib, "--preprocess", "raw", "--skip", "^Convolution28$", "--json", "report.json", kMnist});
  const json report = parsed(read_text(path("report.json")));
  // Multiply-adds: Convolution28 28·28·8·25 = 156,800; Convolution110 14·14·16·8·25 = 627,200; Times212 256·10 = 2,560.
  EXPECT_NEAR(report["int8_mac_share"].get<double>(), (627200.0 + 2560) / (156800 + 627200 + 2560), 1e-4);
  int seen = 0;
  for (const json& node : report["nodes"]) {
    if (node["name"] != "Convolution28" && node["name"] != "Convolution110") continue;
    ++seen;
    EXPECT_EQ(node["precision"], node["name"] == "Convolution28" ? "float" : "int8");
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace lq::test
