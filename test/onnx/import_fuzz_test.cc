// A damaged model must never crash the importer: thousands of mutations of a model that uses every kind of structure.
// Run under the sanitizers in CI; here it at least must return.
#include <gtest/gtest.h>

#include <random>

#include "onnx/model_maker.h"

namespace lq {
namespace {

using test::ModelMaker;

/// Old spellings, quantized weights, a grouped ConvTranspose, If with captures, Constant nodes, LSTM with absent
/// inputs.
std::string rich_model() {
  ModelMaker m(12);
  m.input("x", {1, 4, 6, 6});
  m.input("c", {}, onnx::TensorProto::BOOL);
  m.floats("s", {}, {0.5f});
  m.bytes("z", {}, onnx::TensorProto::UINT8, {120});
  m.floats("sw", {2}, {0.5f, 0.25f});
  m.bytes("zw", {2}, onnx::TensorProto::INT8, {0, 0});
  m.bytes("w", {4, 2, 1, 1}, onnx::TensorProto::INT8, {1, 2, 3, 4, 5, 6, 7, 8});
  m.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  m.node("MaxPool", {"q"}, {"mp"});
  test::set_ints(*m.proto.mutable_graph()->mutable_node(1), "kernel_shape", {2, 2});
  m.node("DequantizeLinear", {"mp", "s", "z"}, {"d"});
  test::set_int(m.node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"}), "axis", 1);
  test::set_int(m.node("ConvTranspose", {"d", "wd"}, {"y"}), "group", 2);
  auto& n = m.node("If", {"c"}, {"i"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& g = *test::attribute(n, branch, onnx::AttributeProto::GRAPH).mutable_g();
    ModelMaker::add(g, branch[0] == 't' ? "Add" : "Mul", {"y", "s"}, {"b"});
    g.add_output()->set_name("b");
  }
  test::set_int(m.node("Softmax", {"i"}, {"soft"}), "axis", 1);
  test::set_ints(m.node("Split", {"soft"}, {"s1", "s2"}), "split", {1, 3});
  test::set_int(*m.proto.mutable_graph()->mutable_node(7), "axis", 1);
  test::set_ints(m.node("Squeeze", {"s1"}, {"sq"}), "axes", {1});
  m.floats("scales", {3}, {1, 2, 2});
  m.floats("roi", {0}, {});
  m.node("Resize", {"sq", "roi", "scales"}, {"up"});
  m.floats("lw", {1, 8, 10}, std::vector<float>(80, 0.1f));
  m.floats("lr", {1, 8, 2}, std::vector<float>(16, 0.1f));
  test::set_int(m.node("LSTM", {"up", "lw", "lr", "", "", "", ""}, {"", "h"}), "hidden_size", 2);
  m.node("Dropout", {"h"}, {"out", "mask"});
  auto& k = *test::attribute(m.node("Constant", {}, {"k"}), "value", onnx::AttributeProto::TENSOR).mutable_t();
  k.set_data_type(onnx::TensorProto::INT64);
  k.add_dims(1);
  k.add_int64_data(2);
  m.node("TopK", {"out", "k"}, {"v", "idx"});
  for (const char* name : {"v", "mask", "q", "s"}) m.output(name);
  return m.serialized();
}

std::string mutate(std::string bytes, std::mt19937& random) {
  const int changes = 1 + int(random() % 4);
  for (int i = 0; i < changes; ++i) {
    const size_t at = random() % bytes.size();
    switch (random() % 5) {
      case 0:
        bytes[at] = char(random());
        break;
      case 1:
        bytes[at] = char(uint8_t(bytes[at]) ^ (1u << random() % 8));
        break;
      case 2:
        bytes[at] = "\x00\x01\x7f\xff"[random() % 4];
        break;
      case 3: {  // swap two equal stretches: names, dims and payloads change places while the framing stays
        const size_t other = random() % bytes.size(), n = 1 + random() % 8;
        for (size_t j = 0; j < n && at + j < bytes.size() && other + j < bytes.size(); ++j)
          std::swap(bytes[at + j], bytes[other + j]);
        break;
      }
      default:
        if (random() % 8 == 0) bytes.resize(at + 1);
        break;
    }
  }
  return bytes;
}

TEST(ImportFuzz, MutatedModelsNeverCrash) {
  const std::string model = rich_model();
  const auto whole = import_onnx_bytes(model.data(), model.size(), "rich", "", {});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  std::mt19937 random(1);
  int imported = 0;
  constexpr int kMutations = 20000;
  for (int i = 0; i < kMutations; ++i) {
    const std::string bytes = mutate(model, random);
    const auto result = import_onnx_bytes(bytes.data(), bytes.size(), "mutated", "", {});
    imported += result.ok();
    if (!result.ok()) EXPECT_FALSE(result.status().message().empty());
  }
  EXPECT_GT(imported, kMutations / 100);  // otherwise the mutations never get past the parser
}

}  // namespace
}  // namespace lq
