// --dump-repro: what is cut out computes what it computed in the whole, and reads back as a model of its own.
#include <cstring>
#include <fstream>

#include "calibration/npy.h"
#include "onnx/model_maker.h"
#include "tools/tool_runner.h"

namespace lq::test {
namespace {

class DumpRepro : public ToolsTest {
 protected:
  /// x [1,2,3] -> Relu "r" -> Mul "m" by another input's Tanh and Add "a" of a constant -> y.
  void make_model() const {
    ModelMaker m(13);
    m.input("x", {1, 2, 3});
    m.input("z", {1, 2, 3});
    m.floats("c", {3}, {0.5f, -1, 2});
    ModelMaker::add(*m.proto.mutable_graph(), "Relu", {"x"}, {"rx"}, "r");
    ModelMaker::add(*m.proto.mutable_graph(), "Mul", {"rx", "z"}, {"mx"}, "m/0");
    ModelMaker::add(*m.proto.mutable_graph(), "Add", {"mx", "c"}, {"y"}, "a");
    m.output("y");
    std::ofstream(path("net.onnx"), std::ios::binary) << m.proto.SerializeAsString();
    for (const char* input : {"x", "z"}) {
      if (!exists("data")) make_folder("data");
      make_folder(std::string("data/") + input);
      for (int s = 0; s < 2; ++s) {
        std::vector<float> values;
        for (int i = 0; i < 6; ++i) values.push_back(float((i * 7 + s * 3 + input[0]) % 11) - 4.5f);
        write_floats(std::string("data/") + input + "/s" + std::to_string(s) + ".npy", {1, 2, 3}, values);
      }
    }
  }
  void write_floats(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& v) const {
    ASSERT_TRUE(calibration::write_npy(path(name), DType::Float32, shape, v.data()).ok());
  }
  std::string content(const std::string& name) const { return read_text(path(name)); }
};

TEST_F(DumpRepro, OneOperatorComputesWhatItDidInTheWhole) {
  make_model();
  succeeds("quantize", {"--calib", "data", "--dump-repro", "a", "net.onnx"});
  EXPECT_TRUE(exists("a.repro/model.onnx") && exists("a.repro/calib/sample0.npy") &&
              exists("a.repro/calib/sample1.npy"));
  EXPECT_FALSE(exists("net.lqm"));
  for (const std::string s : {"0", "1"}) {
    make_folder("whole" + s);
    make_folder("part" + s);
    succeeds("lq-run", {"net.onnx", "--input", "x=data/x/s" + s + ".npy", "--input", "z=data/z/s" + s + ".npy",
                        "--output-dir", "whole" + s});
    succeeds("lq-run",
             {"a.repro/model.onnx", "--input", "a.repro/calib/sample" + s + ".npy", "--output-dir", "part" + s});
    EXPECT_EQ(content("part" + s + "/y.npy"), content("whole" + s + "/y.npy"));
    EXPECT_FALSE(content("part" + s + "/y.npy").empty());
  }
  EXPECT_NE(content("part0/y.npy"), content("part1/y.npy"));
  succeeds("quantize", {"--calib", "a.repro/calib", "a.repro/model.onnx", "-o", "a.lqm"});
}

TEST_F(DumpRepro, SeveralInputsGetAFolderEach) {
  make_model();
  succeeds("quantize", {"--calib", "data", "--dump-repro", "mx", "-o", "out", "net.onnx"});  // by its result
  EXPECT_TRUE(exists("out/calib/rx/sample0.npy") && exists("out/calib/z/sample1.npy"));
  EXPECT_EQ(content("out/calib/z/sample0.npy"), content("data/z/s0.npy")) << "an input of the model as it was fed";
  succeeds("quantize", {"--float", "-o", "out.lqm", "out/model.onnx"});
}

TEST_F(DumpRepro, SaysWhatItCannotFindOrOverwrite) {
  make_model();
  fails("quantize", {"--calib", "data", "--dump-repro", "b", "net.onnx"}, {"no operator or result is called 'b'"});
  succeeds("quantize", {"--calib", "data", "--dump-repro", "a", "net.onnx"});
  fails("quantize", {"--calib", "data", "--dump-repro", "a", "net.onnx"}, {"a.repro", "exists already"});
  fails("quantize", {"--dump-repro", "a", "net.onnx"}, {"--calib"});
  fails("quantize", {"--calib", "data", "--dump-repro", "a", "--method", "mse", "net.onnx"},
        {"--dump-repro", "--method"});
}

}  // namespace
}  // namespace lq::test
