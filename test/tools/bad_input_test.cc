// Bad input: a clear line, a non-zero exit and nothing written.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "calibration/npy.h"
#include "onnx/model_maker.h"
#include "tools/tool_runner.h"

namespace lq::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class BadInput : public ToolsTest {
 protected:
  std::vector<std::string> quantize_args(const std::vector<std::string>& more) const {
    return joined({"--calib", kCalib, "--preprocess", "raw"}, more);
  }
  /// All five tools on a model file.
  void every_tool_fails(const std::string& model, const std::vector<std::string>& wanted) const {
    fails("quantize", quantize_args({model}), wanted);
    fails("lq-run", {model, "--input", kTest + "/0000.png", "--output-dir", "out"}, wanted);
    fails("lq-eval", {model, "--data", kTest, "--json", "eval.json"}, wanted);
    fails("lq-benchmark", {model, "--json", "bench.json"}, wanted);
    fails("lq-inspect", {model, "--dot", "graph.dot"}, wanted);
  }
  void copy_images(const std::string& folder, int count) const {
    make_folder(folder);
    for (int i = 0; i < count; ++i) {
      char name[16];
      std::snprintf(name, sizeof name, "%04d.png", i);
      fs::copy_file(kCalib + "/" + name, path(folder) + "/" + name);
    }
  }
};

/// Conv (channels -> 4, 3×3, every weight `weight`, bias `bias`) -> Relu, serialized.
std::string conv_relu(int64_t channels, const std::vector<int64_t>& image, float weight, float bias,
                      bool free_size = false) {
  ModelMaker m(13);
  m.input("x", {1, channels, image[0], image[1]});
  if (free_size) {
    auto* shape = m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(2)->set_dim_param("H");
    shape->mutable_dim(3)->set_dim_param("W");
  }
  m.floats("w", {4, channels, 3, 3}, std::vector<float>(size_t(4 * channels * 9), weight));
  m.floats("b", {4}, std::vector<float>(4, bias));
  m.node("Conv", {"x", "w", "b"}, {"c"}, "/Conv");
  m.node("Relu", {"c"}, {"y"}, "/Relu");
  m.output("y");
  return m.serialized();
}

TEST_F(BadInput, FilesThatAreNoModel) {
  every_tool_fails("missing.onnx", {"missing.onnx", "No such file"});
  write_text(path("empty.onnx"), "");
  every_tool_fails("empty.onnx", {"empty.onnx", "empty"});
  const std::string whole = read_text(kMnist);
  for (size_t size : {size_t(10), whole.size() / 3, whole.size() - 5}) {
    write_text(path("truncated.onnx"), whole.substr(0, size));
    fails("quantize", quantize_args({"truncated.onnx"}), {"truncated.onnx"});
    fails("lq-inspect", {"truncated.onnx"}, {"truncated.onnx"});
  }
  every_tool_fails("truncated.onnx", {"truncated.onnx"});
  fs::copy_file(kTest + "/0000.png", path("picture.onnx"));
  every_tool_fails("picture.onnx", {"picture.onnx", "PNG"});
  make_folder("folder.onnx");
  every_tool_fails("folder.onnx", {"folder.onnx", "not a regular file"});
}

TEST_F(BadInput, UnsupportedOperatorsAreListedAtOnce) {
  ModelMaker m(13);
  m.input("x", {1, 1, 28, 28});
  m.node("Frobnicate", {"x"}, {"a"}, "first\nname");  // a name must not break the line
  m.node("Relu", {"a"}, {"b"});
  m.node("Grind", {"b"}, {"y"}, "second");
  m.output("y");
  write_text(path("odd.onnx"), m.serialized());
  every_tool_fails("odd.onnx", {"odd.onnx", "Frobnicate", "Grind"});
}

TEST_F(BadInput, CalibrationFolders) {
  make_folder("empty");
  fails("quantize", {"--calib", "empty", kMnist}, {"empty", "folder is empty"});
  make_folder("text");
  write_text(path("text/readme.txt"), "no image\n");
  fails("quantize", {"--calib", "text", kMnist}, {"text", "no usable file"});
  fails("quantize", {"--calib", "missing", kMnist}, {"missing", "no such folder"});
  fails("quantize", {"--calib", "text/readme.txt", kMnist}, {"text/readme.txt", "not a folder"});
  fails("quantize", {kMnist}, {"--calib"});
  // Every sample broken.
  make_folder("broken");
  write_text(path("broken/a.png"), read_text(kCalib + "/0000.png").substr(0, 80));
  fails("quantize", {"--calib", "broken", kMnist}, {"broken/a.png"});
  // Samples of another size than the model's input.
  make_folder("small");
  write_text(path("small/a.pgm"), pnm(5, 7, {9}));
  fails("quantize", {"--calib", "small", kMnist}, {"a.pgm", "5x7", "28x28", "--resize"});
}

TEST_F(BadInput, OneBrokenImageAmongGoodOnesIsSkippedAndReported) {
  copy_images("mixed", 10);
  write_text(path("mixed/0003.png"), read_text(kCalib + "/0003.png").substr(0, 90));
  write_text(path("mixed/9999.jpg"), std::string("\xFF\xD8\xFF\xE0", 4) + "no more");
  const Outcome o = succeeds("quantize", {"--calib", "mixed", "--preprocess", "raw", kMnist});
  EXPECT_NE(o.out.find("samples used 9 skipped 2"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("mixed/0003.png: "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("mixed/9999.jpg: "), std::string::npos) << o.out;
  EXPECT_TRUE(exists("mnist.lqm"));
}

TEST_F(BadInput, EvaluationFolders) {
  quantize_mnist();
  make_folder("empty");
  fails("lq-eval", {"mnist.lqm"}, {"--data"});
  fails("lq-eval", {"mnist.lqm", "--data", "missing"}, {"missing"});
  fails("lq-eval", {"mnist.lqm", "--data", "empty"}, {"empty"});
  fails("lq-eval", {"mnist.lqm", "--data", kCalib}, {"labels"});
  fails("lq-eval", {"mnist.lqm", "--data", kTest, "--labels", "missing.tsv"}, {"missing.tsv"});
  fails("lq-eval", {"mnist.lqm", "--data", kTest, "--label-offset", "9"}, {"--label-offset"});
  make_folder("broken");
  write_text(path("broken/a.png"), "\x89PNG");
  write_text(path("broken/labels.tsv"), "a.png\t1\n");
  fails("lq-eval", {"mnist.lqm", "--data", "broken"}, {"broken", "no usable sample", "a.png"});
  write_text(path("broken/labels.tsv"), "b.png\t1\n");
  fails("lq-eval", {"mnist.lqm", "--data", "broken"}, {"labels.tsv line 1", "b.png"});
}

TEST_F(BadInput, ChannelsAndShapes) {
  fails("quantize", quantize_args({"--color", "rgb", kMnist}), {"mnist.onnx", "Input3", "--color gray"});
  fails("quantize", quantize_args({"--mean", "1,2,3", kMnist}), {"mnist.onnx", "3 values"});
  write_text(path("rgb.onnx"), conv_relu(3, {8, 8}, 0.1f, 0));
  write_text(path("many.onnx"), conv_relu(5, {28, 28}, 0.1f, 0));
  write_text(path("free.onnx"), conv_relu(1, {1, 1}, 0.1f, 0, true));
  fails("quantize", {"--calib", kCalib, "--color", "gray", "rgb.onnx"}, {"rgb.onnx", "3 channel", "--color"});
  fails("quantize", {"--calib", kCalib, "many.onnx"}, {"many.onnx", "0000.png"});  // an image has no 5 channels
  fails("quantize", {"--calib", kCalib, "free.onnx"}, {"free.onnx", "'x'", "free", "x:"});
  fails("lq-benchmark", {"free.onnx"}, {"free.onnx", "'x'", "free"});
  fails("lq-inspect", {"free.onnx"}, {"free.onnx", "'x'", "free"});
  succeeds("quantize", {"--calib", kCalib, "--input-shape", "x:1,1,28,28", "free.onnx"});
  fails("quantize", quantize_args({"--input-shape", "nobody:1,1,28,28", kMnist}), {"nobody", "Input3"});
  fails("quantize", quantize_args({"--input-shape", "Input3:1,1,x,28", kMnist}), {"--input-shape", "'x'"});
  fails("lq-benchmark", {kMnist, "--input-shape", "Input3"}, {"--input-shape"});
}

TEST_F(BadInput, OptionValues) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--skip", "no_such_node"}, "no_such_node"},
      {{"--skip", "("}, "regular expression"},
      {{"--method", "best"}, "best"},
      {{"--method", "percentile:3"}, "percentile:3"},
      {{"--activation", "both"}, "both"},
      {{"--target", "arm"}, "arm"},
      {{"--weights", "per-row"}, "per-row"},
      {{"--max-samples", "-1"}, "--max-samples"},
      {{"--max-samples", "0"}, "--max-samples"},
      {{"--threads", "0"}, "--threads"},
      {{"--fix-input", "nobody=1"}, "nobody"},
      {{"--resize", "big"}, "--resize"},
      {{"--layout", "chw"}, "--layout"},
      {{"--exif", "maybe"}, "--exif"},
      {{"--std", "0"}, "std"}};
  for (const auto& [options, word] : cases) fails("quantize", quantize_args(joined(options, {kMnist})), {word});
  fails("quantize", {"--calib", kCalib, "--preprocess", "missing.json", kMnist}, {"missing.json"});
  quantize_mnist();
  const std::vector<std::string> run = {"mnist.lqm", "--input", kTest + "/0000.png"};
  fails("lq-run", {"mnist.lqm"}, {"Input3", "--input"});
  fails("lq-run", {"mnist.lqm", "--input", "missing.png"}, {"missing.png"});
  fails("lq-run", joined(run, {"--input", kTest + "/0001.png"}), {"0001.png", "1 input"});
  fails("lq-run", joined(run, {"--isa", "mmx"}), {"mmx", "scalar"});
  fails("lq-run", joined(run, {"--top", "-1"}), {"--top"});
  fails("lq-run", joined(run, {"--expect", "Plus214_Output_0=missing.npy"}), {"missing.npy"});
  fails("lq-run", joined(run, {"--top", "many"}), {"--top", "many"});
  fails("lq-run", joined(run, {"--input-shape", "Input3:2,1,28,28"}), {"--input-shape", "[2,1,28,28]", "[1,1,28,28]"});
  fails("lq-benchmark", {"mnist.lqm", "--iterations", "0"}, {"--iterations"});
  write_text(path("other.onnx"), conv_relu(1, {28, 28}, 0.1f, 1));
  fails("lq-eval", {"mnist.lqm", "--data", kTest, "--compare", "other.onnx"}, {"other.onnx", "'x'", "'Input3'"});
}

TEST_F(BadInput, OptionsThatConflict) {
  fails("quantize", {"--float", "--calib", kCalib, kMnist}, {"--float", "--calib"});
  fails("quantize", {"--float", "--skip", "x", kMnist}, {"--float", "--skip"});
  fails("quantize", quantize_args({"--quiet", "--verbose", kMnist}), {"--quiet", "--verbose"});
  fs::copy_file(kMnist, path("own.onnx"));
  fails("quantize", quantize_args({"-o", "own.onnx", "own.onnx"}), {"own.onnx", "overwrite"});
  fails("quantize", quantize_args({"-o", "./own.onnx", "own.onnx"}), {"own.onnx", "overwrite"});
  fails("quantize", quantize_args({"-o", "x", "--json", "x", kMnist}), {"--json", "overwrite"});
  quantize_mnist();
  fails("quantize", {"--calib", kCalib, "mnist.lqm"}, {"mnist.lqm"});
  fails("quantize", {"--calib", kCalib, "-o", "again.lqm", "mnist.lqm"}, {"mnist.lqm", "already"});
  fails("lq-run", {"mnist.lqm", "--input", kTest + "/0000.png", "--color", "gray"}, {"mnist.lqm", "preprocessing"});
  fails("lq-run", {"mnist.lqm", "--input", kTest + "/0000.png", "--atol", "1"}, {"--atol", "--expect"});
  fails("lq-run", {"mnist.lqm", "--input", kTest + "/0000.png", "--fix-input", "Input3=1"}, {"--fix-input"});
}

TEST_F(BadInput, OutputsThatCannotBeWritten) {
  for (const std::string option : {"--output", "--json", "--export-qdq"}) {
    fails("quantize", quantize_args({option, "missing/file", kMnist}), {option, "missing/file"});
    fails("quantize", quantize_args({option, ".", kMnist}), {option, "folder"});
  }
  quantize_mnist();
  fails("lq-inspect", {"mnist.lqm", "--dot", "missing/graph.dot"}, {"missing/graph.dot"});
  fails("lq-benchmark", {"mnist.lqm", "--iterations", "1", "--json", "missing/b.json"}, {"missing/b.json"});
  fails("lq-eval", {"mnist.lqm", "--data", kTest, "--json", "missing/e.json"}, {"missing/e.json"});
  fails("lq-run", {"mnist.lqm", "--input", kTest + "/0000.png", "--output-dir", "mnist.lqm"}, {"mnist.lqm"});
  if (geteuid() != 0) {  // root may write anywhere
    make_folder("locked");
    fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
    fails("quantize", quantize_args({"-o", "locked/m.lqm", kMnist}), {"locked/m.lqm"});
    fs::permissions(path("locked"), fs::perms::owner_all);
  } else {
    std::printf("1 case skipped: root may write into a read-only folder\n");
  }
}

TEST_F(BadInput, FileSizeLimitLeavesNothing) {
  const size_t limit = 8192;  // the model takes 12 kB and more
  fails("quantize", quantize_args({kMnist}), {"mnist.lqm", "cannot write"}, limit);
  fails("quantize", quantize_args({"--export-qdq", "qdq.onnx", kMnist}), {"qdq.onnx", "cannot write"}, limit);
  quantize_mnist();
  // An existing file stays as it is.
  fails("quantize", quantize_args({kMnist}), {"mnist.lqm", "cannot write"}, limit);
  succeeds("lq-run", {"mnist.lqm", "--input", kTest + "/0000.png"});
}

TEST_F(BadInput, FullDiskLeavesNothing) {
  make_folder("disk");
  if (mount("lq_tools_test", path("disk").c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "1 case skipped: mounting a small tmpfs needs root";
  }
  { std::ofstream(path("disk/filler"), std::ios::binary) << std::string(56 * 1024, 'x'); }
  fails("quantize", quantize_args({"-o", "disk/m.lqm", kMnist}), {"disk/m.lqm", "No space left"});
  fails("quantize", quantize_args({"-o", "m.lqm", "--export-qdq", "disk/q.onnx", kMnist}),
        {"disk/q.onnx", "No space left"});
  EXPECT_EQ(umount(path("disk").c_str()), 0);
}

TEST_F(BadInput, DamagedModelFiles) {
  quantize_mnist();
  const std::string good = read_text(path("mnist.lqm"));
  for (size_t size : {size_t(1), size_t(20), size_t(200), good.size() / 2, good.size() - 1}) {
    write_text(path("bad.lqm"), good.substr(0, size));
    SCOPED_TRACE("cut to " + std::to_string(size));
    every_tool_fails("bad.lqm", {"bad.lqm"});
  }
  for (size_t at : {size_t(8), size_t(70), good.size() / 4, good.size() / 2, good.size() * 9 / 10}) {
    std::string flipped = good;
    while (flipped[at] == 0) ++at;  // alignment padding holds zeros and means nothing
    flipped[at] = char(flipped[at] ^ 0x10);
    write_text(path("bad.lqm"), flipped);
    SCOPED_TRACE("bit flipped at " + std::to_string(at));
    // quantize refuses any .lqm, see OptionsThatConflict.
    fails("lq-run", {"bad.lqm", "--input", kTest + "/0000.png"}, {"bad.lqm"});
    fails("lq-eval", {"bad.lqm", "--data", kTest}, {"bad.lqm"});
    fails("lq-eval", {"mnist.lqm", "--data", kTest, "--compare", "bad.lqm"}, {"bad.lqm"});
    fails("lq-benchmark", {"bad.lqm"}, {"bad.lqm"});
    fails("lq-inspect", {"bad.lqm"}, {"bad.lqm"});
  }
}

// A blank calibration set must not give scale 0 or infinity.
TEST_F(BadInput, BlankImagesQuantizeToZeros) {
  write_text(path("m.onnx"), conv_relu(1, {8, 8}, 0.1f, -10));
  make_folder("black");
  write_text(path("black/a.pgm"), pnm(8, 8, {0}));
  succeeds("quantize", {"--calib", "black", "m.onnx"});
  succeeds("lq-run", {"m.lqm", "--input", "black/a.pgm", "--output-dir", "out"});
  const auto y = calibration::read_npy(path("out/y.npy"));
  ASSERT_TRUE(y.ok()) << y.status().message();
  const float* values = reinterpret_cast<const float*>(y->data.data());
  for (int64_t i = 0; i < element_count(y->shape); ++i) ASSERT_EQ(values[i], 0.0f);
}

// A gray model asks for one channel whatever the image has: R = G = B is that gray.
TEST_F(BadInput, GrayModelTakesColourImages) {
  write_text(path("m.onnx"), conv_relu(1, {8, 8}, 0.1f, 1));
  make_folder("mixed");
  write_text(path("mixed/gray.pgm"), pnm(8, 8, {200}));
  write_text(path("mixed/colour.ppm"), pnm(8, 8, {200, 200, 200}));
  const Outcome o = succeeds("quantize", {"--calib", "mixed", "m.onnx"});
  EXPECT_NE(o.out.find("samples used 2 skipped 0"), std::string::npos) << o.out;
  EXPECT_NE(succeeds("lq-inspect", {"m.lqm"}).out.find("input x float32 [1,1,8,8]"), std::string::npos);
  succeeds("lq-run", {"m.lqm", "--input", "mixed/gray.pgm", "--output-dir", "gray"});
  succeeds("lq-run",
           {"m.lqm", "--input", "mixed/colour.ppm", "--expect", "y=gray/y.npy", "--atol", "0", "--rtol", "0"});
}

// Node names with a slash, and a typing error in one.
TEST_F(BadInput, SkipWithSlashes) {
  write_text(path("m.onnx"), conv_relu(1, {28, 28}, 0.1f, 1));
  const Outcome o = succeeds("quantize", {"--calib", kCalib, "--skip", "/Conv", "m.onnx"});
  EXPECT_EQ(number_after(o.out, "int8_mac_share"), 0) << o.out;
  fails("quantize", {"--calib", kCalib, "--skip", "/Conv", "--skip", "/Covn", "m.onnx"}, {"/Covn", "matches no node"});
}

// Two inputs, and one of them without a file for a sample: the error names input and sample.
TEST_F(BadInput, TwoInputsOneFileMissing) {
  ModelMaker m(13);
  m.input("a", {1, 4});
  m.input("b", {1, 4});
  m.node("Add", {"a", "b"}, {"y"}, "sum");
  m.output("y");
  write_text(path("add.onnx"), m.serialized());
  const float values[4] = {1, 2, 3, 4};
  for (const std::string name : {"data/a/0.npy", "data/a/1.npy", "data/b/0.npy"}) {
    make_folder(fs::path(name).parent_path());
    ASSERT_TRUE(calibration::write_npy(path(name), DType::Float32, {1, 4}, values).ok());
  }
  fails("quantize", {"--calib", "data", "add.onnx"}, {"'1'", "'b'"});
  fs::remove(path("data/a/1.npy"));
  succeeds("quantize", {"--calib", "data", "add.onnx"});
  fails("lq-run", {"add.lqm", "--input", "data/a/0.npy"}, {"'b'", "missing"});
}

}  // namespace
}  // namespace lq::test
