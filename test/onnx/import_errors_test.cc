// What the importer refuses, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "onnx/model_maker.h"

namespace lq {
namespace {

using test::ModelMaker;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::string& bytes) {
  const auto model = import_onnx_bytes(bytes.data(), bytes.size(), "bad.onnx", "", {});
  return model.ok() ? "imported" : model.status().message();
}
std::string error_of(const ModelMaker& m, const std::string& base_dir = "") {
  const auto model = m.import({}, base_dir);
  return model.ok() ? "imported" : model.status().message();
}

ModelMaker relu_model() {
  ModelMaker m(13);
  m.input("x", {2});
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  return m;
}

TEST(ImportErrors, FilesThatAreNoModel) {
  EXPECT_THAT(import_onnx("/nonexistent/m.onnx", {}).status().message(),
              AllOf(HasSubstr("/nonexistent/m.onnx"), HasSubstr("No such file")));
  EXPECT_THAT(error_of(std::string()), HasSubstr("bad.onnx: the file is empty"));
  EXPECT_THAT(error_of("\x89PNG\r\n\x1a\n...."), HasSubstr("is not an ONNX model but a PNG image"));
  EXPECT_THAT(error_of("hello world, no model here"), HasSubstr("is not a"));
  const std::string whole = relu_model().serialized();
  for (size_t n = 1; n < whole.size(); ++n) EXPECT_NE(error_of(whole.substr(0, n)), "imported") << n;
}

TEST(ImportErrors, AllUnsupportedOperatorsAtOnce) {
  ModelMaker m(13);
  m.input("x", {2});
  m.node("NonMaxSuppression", {"x"}, {"a"}, "nms");
  m.node("NonMaxSuppression", {"x"}, {"b"});
  m.node("FusedConv", {"x"}, {"c"}, "fc").set_domain("com.microsoft");
  m.node("HardSwish", {"x"}, {"d"});  // opset 14
  m.output("a");
  EXPECT_THAT(error_of(m), AllOf(StartsWith("test.onnx: 3 unsupported operators at opset 13: "),
                                 HasSubstr("NonMaxSuppression x2 (first: 'nms')"),
                                 HasSubstr("com.microsoft.FusedConv x1 (first: 'fc'; domain 'com.microsoft')"),
                                 HasSubstr("HardSwish x1 (first: -> 'd'; supported in opset 14 to 22 only)")));
}

TEST(ImportErrors, OperatorsInsideBranchesAreListedToo) {
  ModelMaker m(13);
  m.input("c", {}, onnx::TensorProto::BOOL);
  auto& n = m.node("If", {"c"}, {"y"});
  auto& g = *test::attribute(n, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  ModelMaker::add(g, "NonZero", {"c"}, {"z"}, "inside");
  m.output("y");
  EXPECT_THAT(error_of(m), HasSubstr("NonZero x1 (first: 'inside')"));
}

TEST(ImportErrors, NodeNameAndReason) {
  ModelMaker m = relu_model();
  m.node("Gelu", {"y"}, {"z"});
  EXPECT_THAT(error_of(m), HasSubstr("Gelu x1"));

  ModelMaker unknown = relu_model();
  test::set_int(*unknown.proto.mutable_graph()->mutable_node(0), "surprise", 1);
  unknown.proto.mutable_graph()->mutable_node(0)->set_name("act");
  EXPECT_THAT(error_of(unknown), HasSubstr("test.onnx: Relu 'act': attribute 'surprise' is not known at opset 13"));

  ModelMaker missing = relu_model();
  missing.node("Add", {"x", "ghost"}, {"z"}, "plus");
  EXPECT_THAT(error_of(missing), HasSubstr("Add 'plus': input 'ghost' is produced by no node"));

  ModelMaker twice = relu_model();
  twice.node("Abs", {"x"}, {"y"}, "again");
  EXPECT_THAT(error_of(twice), HasSubstr("Abs 'again': output 'y' already exists"));

  ModelMaker cycle(13);
  cycle.input("x", {2});
  cycle.node("Add", {"x", "b"}, {"a"}, "one");
  cycle.node("Abs", {"a"}, {"b"}, "two");
  cycle.output("b");
  EXPECT_THAT(error_of(cycle), HasSubstr("is part of a cycle"));

  ModelMaker arity(13);
  arity.input("x", {2});
  arity.node("Conv", {"x"}, {"y"}, "c");
  arity.output("y");
  EXPECT_THAT(error_of(arity), HasSubstr("Conv 'c': has 1 inputs, needs 2 to 3"));

  ModelMaker output = relu_model();
  output.output("nothing");
  EXPECT_THAT(error_of(output), HasSubstr("output 'nothing' is produced by no node"));
}

TEST(ImportErrors, Opsets) {
  ModelMaker m = relu_model();
  m.proto.mutable_opset_import(0)->set_version(99);
  EXPECT_THAT(error_of(m), HasSubstr("opset 99 is newer than this importer"));
  ModelMaker old(6);
  old.input("x", {2});
  old.node("Add", {"x", "x"}, {"y"});
  old.output("y");
  EXPECT_THAT(error_of(old), HasSubstr("Add x1 (first: -> 'y'; supported in opset 7 to 22 only)"));
}

TEST(ImportErrors, TrainingAndTypes) {
  ModelMaker m(15);
  m.input("x", {1, 1});
  m.floats("s", {1}, {1});
  test::set_int(m.node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}, "bn"), "training_mode", 1);
  m.output("y");
  EXPECT_THAT(error_of(m), HasSubstr("BatchNormalization 'bn': training_mode=1 is not supported"));

  ModelMaker text(13);
  text.input("x", {1}, onnx::TensorProto::STRING);
  text.node("Identity", {"x"}, {"y"});
  text.output("y");
  EXPECT_THAT(error_of(text), HasSubstr("input 'x': element type string (8) is not supported"));

  ModelMaker sequence = relu_model();
  sequence.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(error_of(sequence), HasSubstr("input 'x': is no tensor"));
}

TEST(ImportErrors, InitializerSizesAreChecked) {
  auto with_weight = [](const std::function<void(onnx::TensorProto&)>& change) {
    ModelMaker m = relu_model();
    m.floats("w", {2}, {1, 2});
    m.node("Add", {"y", "w"}, {"z"});
    m.output("z");
    change(*m.proto.mutable_graph()->mutable_initializer(0));
    return error_of(m);
  };
  EXPECT_EQ(with_weight([](auto&) {}), "imported");
  EXPECT_THAT(with_weight([](auto& t) { t.set_dims(0, 3); }),
              HasSubstr("tensor 'w': holds 8 bytes, its dims [3] of float32 need 12"));
  EXPECT_THAT(with_weight([](auto& t) { t.set_dims(0, -2); }), HasSubstr("illegal dimension -2"));
  EXPECT_THAT(with_weight([](auto& t) { t.set_dims(0, INT64_MAX); }), HasSubstr("illegal dimension"));
  EXPECT_THAT(with_weight([](auto& t) {
                t.set_dims(0, 1 << 30);
                for (int i = 0; i < 3; ++i) t.add_dims(1 << 30);
              }),
              HasSubstr("is too large"));
  EXPECT_THAT(with_weight([](auto& t) { t.set_raw_data("abc"); }), HasSubstr("holds 3 bytes"));
  EXPECT_THAT(with_weight([](auto& t) { t.mutable_segment()->set_begin(0); }), HasSubstr("stored in segments"));
  EXPECT_THAT(with_weight([](auto& t) { t.set_data_type(onnx::TensorProto::COMPLEX64); }), HasSubstr("complex64"));
  EXPECT_THAT(with_weight([](auto& t) { t.set_data_type(17); }), HasSubstr("float8"));

  ModelMaker sparse = relu_model();
  sparse.proto.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("sp");
  EXPECT_THAT(error_of(sparse), HasSubstr("initializer 'sp' is sparse"));
}

TEST(ImportErrors, LocalFunctions) {
  ModelMaker m = relu_model();
  m.proto.add_functions()->set_name("Mine");
  m.proto.mutable_functions(0)->set_domain("my");
  m.node("Mine", {"x"}, {"f"}).set_domain("my");
  EXPECT_THAT(error_of(m), HasSubstr("my.Mine x1 (first: -> 'f'; local function; inline it)"));
}

TEST(ExternalData, OffsetsPathsAndSharing) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("lq_external_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir / "sub");
  const float values[4] = {9, 1, 2, 9};
  std::ofstream(dir / "sub" / "w.bin", std::ios::binary).write(reinterpret_cast<const char*>(values), sizeof(values));
  auto import_with = [&](const std::string& location, const std::string& offset, const std::string& length,
                         std::string base) {
    ModelMaker m = relu_model();
    auto& t = m.initializer("w", {2}, onnx::TensorProto::FLOAT);
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [k, v] :
         {std::pair<std::string, std::string>{"location", location}, {"offset", offset}, {"length", length}}) {
      if (v.empty()) continue;
      auto* e = t.add_external_data();
      e->set_key(k);
      e->set_value(v);
    }
    m.node("Add", {"y", "w"}, {"z"});
    m.output("z");
    const auto model = m.import({}, base);
    if (!model.ok()) return model.status().message();
    for (const Tensor& tensor : model->main().tensors) {
      if (tensor.name == "w")
        return std::to_string(tensor.data.as<float>()[0]) + " " + std::to_string(tensor.data.as<float>()[1]);
    }
    return std::string("no w");
  };
  EXPECT_EQ(import_with("sub/w.bin", "4", "8", dir), "1.000000 2.000000");
  EXPECT_EQ(import_with("./sub/w.bin", "4", "", dir), "1.000000 2.000000");
  EXPECT_THAT(import_with("sub/w.bin", "12", "8", dir), HasSubstr("lie outside the file of 16 bytes"));
  EXPECT_THAT(import_with("sub/w.bin", "18446744073709551608", "8", dir), HasSubstr("lie outside"));
  EXPECT_THAT(import_with("sub/w.bin", "-4", "8", dir), HasSubstr("not a number"));
  EXPECT_THAT(import_with("sub/w.bin", "4", "4", dir), HasSubstr("has 4 bytes, its dims need 8"));
  EXPECT_THAT(import_with("sub/../sub/w.bin", "4", "8", dir), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(import_with((dir / "sub/w.bin").string(), "4", "8", dir), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(import_with("none.bin", "4", "8", dir), HasSubstr("No such file"));
  EXPECT_THAT(import_with("sub/w.bin", "4", "8", ""), HasSubstr("was not read from a file"));
  EXPECT_THAT(import_with("", "4", "8", dir), HasSubstr("without a 'location'"));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace lq
