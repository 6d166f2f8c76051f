// The file: what goes in comes out, the same bytes each time, and whatever is damaged or newer is refused with a
// message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "format/checksum.h"
#include "format/sample_model.h"

namespace lq {
namespace {

using ::testing::HasSubstr;
using namespace lq::test;

void expect_refused(const std::string& file, StatusCode code, const std::string& part) {
  const Result<ModelIr> model = read_string(file);
  ASSERT_FALSE(model.ok()) << "expected: " << part;
  EXPECT_EQ(model.status().code(), code) << model.status().message();
  EXPECT_THAT(model.status().message(), HasSubstr(part));
}

schema::TensorT& tensor_named(schema::ModelT& m, const std::string& name) {
  for (auto& t : m.subgraphs[0]->tensors) {
    if (t->name == name) return *t;
  }
  std::abort();
}
schema::NodeT& node_of(schema::ModelT& m, Op op) {
  for (auto& n : m.subgraphs[0]->nodes) {
    if (n->op == op) return *n;
  }
  std::abort();
}

TEST(Format, RoundTripKeepsEverything) {
  const ModelIr model = sample_model();
  const Result<ModelIr> back = read_string(bytes_of(model));
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->graphs.size(), model.graphs.size());
  for (size_t g = 0; g < model.graphs.size(); ++g) expect_same(model.graphs[g], back->graphs[g]);
  EXPECT_EQ(back->producer, model.producer);
  EXPECT_EQ(back->options, model.options);
  ASSERT_EQ(back->inputs.size(), 1u);
  EXPECT_EQ(back->inputs[0].name, "x");
  const schema::PreprocessingT& p = *back->inputs[0].preprocessing;
  EXPECT_EQ(p.color, schema::Color::Bgr);
  EXPECT_EQ(p.layout, schema::DataLayout::Nhwc);
  EXPECT_EQ(p.mean, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(p.std, (std::vector<float>{4, 5, 6}));
  EXPECT_TRUE(p.ignore_exif);
  ASSERT_EQ(p.steps.size(), 1u);
  EXPECT_EQ(p.steps[0]->kind, schema::PreprocessKind::Letterbox);
  EXPECT_EQ(p.steps[0]->width, 640);
  EXPECT_EQ(p.steps[0]->height, 480);
  EXPECT_TRUE(back->golden && *back->golden == *model.golden);
  ASSERT_EQ(back->metadata.size(), 1u);
  EXPECT_TRUE(back->metadata[0] == model.metadata[0]);
}

TEST(Format, SampleHoldsEveryAttributeTable) {
  const ModelIr model = sample_model();
  std::vector<bool> seen(size_t(schema::Attrs::MAX) + 1);
  for (const Node& node : model.main().nodes) seen[size_t(node.attrs.type)] = true;
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << schema::EnumNameAttrs(schema::Attrs(i));
}

TEST(Format, SameModelSameBytes) {
  const std::string once = bytes_of(sample_model());
  EXPECT_EQ(once, bytes_of(sample_model()));
  EXPECT_EQ(once, bytes_of(*read_string(once)));  // reading and writing changes nothing either
}

TEST(Format, EqualConstantsAreStoredOnce) {
  const std::string file = bytes_of(sample_model());
  const schema::Model& flat = *schema::GetModel(file.data() + header_of(file).graph_offset);
  int first = -1, second = -2;
  for (const schema::Tensor* t : *flat.subgraphs()->Get(0)->tensors()) {
    if (t->name() != nullptr && t->name()->str() == "w") first = t->buffer();
    if (t->name() != nullptr && t->name()->str() == "w_again") second = t->buffer();
  }
  EXPECT_GE(first, 0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(header_of(file).weights_offset % 64, 0u);
}

TEST(Format, ZeroPointsOfZeroTakeNoRoom) {
  const Result<ModelIr> back = read_string(bytes_of(sample_model()));
  ASSERT_TRUE(back.ok());
  for (const Tensor& t : back->main().tensors) {
    if (t.name != "w") continue;
    EXPECT_TRUE(t.quant->zero_point.empty());
    EXPECT_EQ(zero_point_at(*t.quant, 1), 0);
  }
}

TEST(Format, MessagesStayOneLineWhateverTheNames) {
  const std::string file = with_graph(bytes_of(sample_model()), [](schema::ModelT& m) {
    node_of(m, Op::Gelu).name = "a\nb\x1b[31m";
    node_of(m, Op::Gelu).inputs[0] = 100000;
  });
  expect_refused(file, StatusCode::kCorrupt, "a?b?[31m");
}

TEST(Format, ReadsFromAnyAlignment) {
  const ModelIr model = sample_model();
  const std::string file = bytes_of(model);
  for (size_t shift = 0; shift < 17; ++shift) {
    auto memory = std::make_shared<std::string>(std::string(shift, 'x') + file);
    const Result<ModelIr> back = read_model(Bytes(memory->data() + shift, file.size(), memory));
    ASSERT_TRUE(back.ok()) << shift << ": " << back.status().message();
    expect_same(model.main(), back->main());
  }
}

TEST(Format, EveryTruncationIsRefused) {
  const std::string file = bytes_of(sample_model());
  for (size_t size = 0; size < file.size(); ++size) {
    // An own block of exactly this size, so that a sanitizer sees the first byte read too far.
    const Result<ModelIr> model = read_string(file.substr(0, size));
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(model.status().code(), StatusCode::kCorrupt) << size << ": " << model.status().message();
  }
}

TEST(Format, EveryDamagedByteIsNoticed) {
  const std::string file = bytes_of(sample_model());
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = char(damaged[i] ^ 0x10);
    EXPECT_FALSE(read_string(damaged).ok()) << i;  // gaps between constants and sections too
  }
}

TEST(Format, NothingStandsBehindTheWeights) {
  const std::string file = bytes_of(sample_model());
  expect_refused(file + '\0', StatusCode::kCorrupt, "up to the end of the file");
  // Moved by a line of 64 zeros that no section owns.
  FileHeader h = header_of(file);
  std::string moved = file;
  moved.insert(h.weights_offset, 64, '\0');
  h.weights_offset += 64;
  expect_refused(with_header(moved, h), StatusCode::kCorrupt, "do not follow each other");
}

TEST(Format, WrongHeaderFieldsAreRefused) {
  const std::string file = bytes_of(sample_model());
  const uint64_t hostile[] = {0,
                              1,
                              63,
                              file.size() - 1,
                              file.size() + 1,
                              uint64_t(1) << 31,
                              ~uint64_t(0),
                              ~uint64_t(0) - 63,
                              uint64_t(1) << 63};
  uint64_t FileHeader::*const fields[] = {&FileHeader::graph_offset,   &FileHeader::graph_size,
                                          &FileHeader::graph_checksum, &FileHeader::weights_offset,
                                          &FileHeader::weights_size,   &FileHeader::weights_checksum};
  for (size_t f = 0; f < std::size(fields); ++f) {
    for (uint64_t value : hostile) {
      FileHeader h = header_of(file);
      h.*fields[f] = value;
      const Result<ModelIr> model = read_string(with_header(file, h));
      ASSERT_FALSE(model.ok()) << f << " " << value;
      EXPECT_EQ(model.status().code(), StatusCode::kCorrupt) << f << " " << value << ": " << model.status().message();
    }
  }
  FileHeader h = header_of(file);
  h.header_size = 128;
  expect_refused(with_header(file, h), StatusCode::kUnsupported, "header of 128 bytes");
  h = header_of(file);
  h.identifier[3] = '2';
  expect_refused(with_header(file, h), StatusCode::kCorrupt, "not a libquant model");
  expect_refused("", StatusCode::kCorrupt, "not a libquant model");
}

TEST(Format, VersionOneIsToldApartFromDamage) {
  std::string file = with_graph(bytes_of(sample_model()), [](schema::ModelT& m) { m.min_reader_version = 1; });
  FileHeader h = header_of(file);
  h.weights_checksum = 0;  // reserved in version 1
  expect_refused(with_header(file, h), StatusCode::kUnsupported, "make the model again with `quantize`");
}

/// What means other bits to an older reader is refused by it.
TEST(Format, Int16TensorsAskForANewerReader) {
  for (const DType dtype : {DType::Int8, DType::Int16}) {
    ModelIr model;
    model.graphs.emplace_back();
    Graph& g = model.main();
    const auto tensor = [&](const char* name, DType type) {
      Tensor t;
      t.name = name, t.dtype = type, t.ranked = true, t.shape = {1, 4};
      return g.add_tensor(std::move(t));
    };
    const TensorId x = tensor("x", DType::Float32), q = tensor("q", dtype), y = tensor("y", DType::Float32);
    g.tensor(q).quant = per_tensor_params(dtype, 0.5f, 0);
    g.inputs = {x}, g.outputs = {y};
    g.nodes.resize(2);
    g.nodes[0].op = Op::QuantizeLinear, g.nodes[0].inputs = {x}, g.nodes[0].outputs = {q};
    g.nodes[1].op = Op::DequantizeLinear, g.nodes[1].inputs = {q}, g.nodes[1].outputs = {y};
    const std::string file = bytes_of(model);
    const auto* stored = schema::GetModel(file.data() + header_of(file).graph_offset);
    EXPECT_EQ(stored->min_reader_version(), dtype == DType::Int16 ? 3u : 2u);
    const auto again = read_model(*Bytes::copy_of(file.data(), file.size()));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(to_string(again->main()), to_string(g));
  }
}

struct Change {
  const char* name;
  void (*apply)(schema::ModelT&);
  StatusCode code;
  const char* message;
};

class ChangedGraph : public ::testing::TestWithParam<Change> {};
TEST_P(ChangedGraph, IsRefused) {
  const Change& change = GetParam();
  expect_refused(with_graph(bytes_of(sample_model()), change.apply), change.code, change.message);
}

const Change kNewer[] = {
    {"version", [](auto& m) { m.min_reader_version = 4; }, StatusCode::kUnsupported,
     "has file version 4, this library reads versions 2 and 3; update libquant"},
    {"older_version", [](auto& m) { m.min_reader_version = 1; }, StatusCode::kUnsupported,
     "has file version 1, this library reads versions 2 and 3; make the model again with `quantize`"},
    {"semantics", [](auto& m) { m.semantics_version = 2; }, StatusCode::kUnsupported, "semantics version 2"},
    {"arithmetic", [](auto& m) { m.arithmetic = schema::ArithmeticMode::IntegerRequantize; }, StatusCode::kUnsupported,
     "update libquant"},
    {"arithmetic_unknown", [](auto& m) { m.arithmetic = schema::ArithmeticMode(9); }, StatusCode::kUnsupported,
     "update libquant"},
    {"op_version", [](auto& m) { node_of(m, Op::Gelu).op_version = 2; }, StatusCode::kUnsupported,
     "version 2 of its operator"},
    {"op", [](auto& m) { node_of(m, Op::Gelu).op = Op(999); }, StatusCode::kUnsupported,
     "unknown operator 999; update libquant"},
    {"dtype", [](auto& m) { tensor_named(m, "x").dtype = DType(77); }, StatusCode::kUnsupported,
     "unknown data type 77; update libquant"},
    {"pad_mode", [](auto& m) { node_of(m, Op::Pad).attrs.AsPadAttrs()->mode = schema::PadMode(50); },
     StatusCode::kUnsupported, "unknown padding mode 50; update libquant"},
    {"resize_mode", [](auto& m) { node_of(m, Op::Resize).attrs.AsResizeAttrs()->mode = schema::ResizeMode(50); },
     StatusCode::kUnsupported, "update libquant"},
    {"cast_to", [](auto& m) { node_of(m, Op::Cast).attrs.AsCastAttrs()->to = DType(50); }, StatusCode::kUnsupported,
     "update libquant"},
    {"granularity", [](auto& m) { tensor_named(m, "w").quant->granularity = schema::Granularity::PerBlock; },
     StatusCode::kUnsupported, "update libquant"},
    {"scale_source", [](auto& m) { tensor_named(m, "w").quant->scale_source = schema::ScaleSource::Tensor; },
     StatusCode::kUnsupported, "update libquant"},
    {"state", [](auto& m) { tensor_named(m, "x").is_state = true; }, StatusCode::kUnsupported, "is a state"},
    {"zlib", [](auto& m) { m.buffers[0]->encoding = schema::Encoding::Zlib; }, StatusCode::kUnsupported,
     "encoding this version does not read; update libquant"},
    {"encoding_unknown", [](auto& m) { m.buffers[0]->encoding = schema::Encoding(200); }, StatusCode::kUnsupported,
     "update libquant"},
    {"side_file", [](auto& m) { m.files = {"weights.bin"}; }, StatusCode::kUnsupported,
     "side files, which this version does not read; update libquant"},
    {"buffer_file", [](auto& m) { m.buffers[0]->file = 1; }, StatusCode::kUnsupported, "update libquant"},
    {"color", [](auto& m) { m.inputs[0]->preprocessing->color = schema::Color(9); }, StatusCode::kUnsupported,
     "update libquant"},
    {"step", [](auto& m) { m.inputs[0]->preprocessing->steps[0]->kind = schema::PreprocessKind(9); },
     StatusCode::kUnsupported, "update libquant"},
};
const Change kDamaged[] = {
    {"buffer_offset", [](auto& m) { m.buffers[0]->offset = ~uint64_t(0); }, StatusCode::kUnsupported,
     "update libquant"},
    {"buffer_huge", [](auto& m) { m.buffers[1]->size = ~uint64_t(0); }, StatusCode::kCorrupt,
     "weight buffer 1 lies outside"},
    {"buffer_size", [](auto& m) { m.buffers[1]->size = uint64_t(1) << 40; }, StatusCode::kCorrupt,
     "weight buffer 1 lies outside"},
    {"buffer_index", [](auto& m) { tensor_named(m, "w").buffer = 1000; }, StatusCode::kCorrupt,
     "names weight buffer 1000"},
    {"buffer_negative", [](auto& m) { tensor_named(m, "w").buffer = -2; }, StatusCode::kCorrupt,
     "names weight buffer -2"},
    {"buffer_short",
     [](auto& m) {
       tensor_named(m, "w").buffer = tensor_named(m, "k").buffer, tensor_named(m, "w").shape = {2, 5};
     },
     StatusCode::kCorrupt, "needs 10"},
    {"tensor_id", [](auto& m) { node_of(m, Op::Gelu).inputs[0] = 100000; }, StatusCode::kCorrupt, "does not exist"},
    {"branch", [](auto& m) { node_of(m, Op::If).subgraphs[1] = 7; }, StatusCode::kCorrupt, "branch graph 7"},
    {"scale", [](auto& m) { tensor_named(m, "w").quant->scale[0] = 0; }, StatusCode::kCorrupt, "not valid"},
    {"std", [](auto& m) { m.inputs[0]->preprocessing->std[1] = 0; }, StatusCode::kCorrupt, "std"},
    {"size", [](auto& m) { m.inputs[0]->preprocessing->steps[0]->width = -1; }, StatusCode::kCorrupt, "-1x480"},
};
const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Newer, ChangedGraph, ::testing::ValuesIn(kNewer), kName);
INSTANTIATE_TEST_SUITE_P(Damaged, ChangedGraph, ::testing::ValuesIn(kDamaged), kName);

/// `count` tensors of one name each: what a small file may and may not make of itself.
std::string with_shared_name(const std::string& file, size_t length, size_t count) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(length, 'n'));
  std::vector<flatbuffers::Offset<schema::Tensor>> tensors;
  for (size_t i = 0; i < count; ++i) tensors.push_back(schema::CreateTensor(builder, name, DType::Float32));
  const auto list = builder.CreateVector(tensors);
  const std::vector<flatbuffers::Offset<schema::Subgraph>> graphs = {schema::CreateSubgraph(builder, 0, list)};
  const auto graph_list = builder.CreateVector(graphs);
  schema::FinishModelBuffer(builder, schema::CreateModel(builder, kFileVersion, kSemanticsVersion, 0, 0,
                                                         schema::ArithmeticMode::FloatRequantize, graph_list));
  return with_graph_bytes(file, builder.GetBufferPointer(), builder.GetSize());
}

TEST(Format, OnlyShortStringsMayBeShared) {
  const std::string file = bytes_of(sample_model());
  expect_refused(with_shared_name(file, 100000, 1000), StatusCode::kCorrupt, "parts of the graph overlap");
  expect_refused(with_shared_name(file, 64, 1000), StatusCode::kCorrupt, "no output");  // read, and found wanting
}

TEST(Format, EqualShortListsAndAttributesAreStoredOnce) {
  ModelIr model = sample_model();
  const size_t size = header_of(bytes_of(model)).graph_size;
  Graph& graph = model.main();
  Node conv;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::ConvTranspose) conv = node;
  }
  constexpr size_t kCopies = 100;
  for (size_t i = 0; i < kCopies; ++i) {
    Tensor result = graph.tensor(conv.outputs[0]);
    conv.outputs[0] = graph.add_tensor(std::move(result));
    graph.nodes.push_back(conv);
  }
  // Node and tensor tables, their offsets and the list of one output each; attributes alone would take 100 bytes.
  EXPECT_LT(header_of(bytes_of(model)).graph_size, size + kCopies * 80);
}

TEST(Format, UnionWithoutValueIsRefused) {
  std::string file = bytes_of(sample_model());
  FileHeader h = header_of(file);
  // The offset of the attributes is a field of the node's table: 0 in the vtable makes it absent while the type stays.
  const schema::Model& flat = *schema::GetModel(file.data() + h.graph_offset);
  const auto* node = reinterpret_cast<const flatbuffers::Table*>(
      flat.subgraphs()->Get(0)->nodes()->Get(flat.subgraphs()->Get(0)->nodes()->size() - 1));
  uint8_t* vtable = const_cast<uint8_t*>(node->GetVTable());
  const uint16_t absent = 0;
  std::memcpy(vtable + schema::Node::VT_ATTRS, &absent, 2);
  h.graph_checksum = checksum64(file.data() + h.graph_offset, h.graph_size);
  expect_refused(with_header(file, h), StatusCode::kCorrupt, "kind of its attributes");
}

// From the text of docs/FORMAT.md by a few lines of Python with arbitrary-size integers, not by this code.
TEST(Checksum, MatchesTheDescription) {
  std::string bytes(100, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = char(i);
  EXPECT_EQ(checksum64("", 0), 0x25c31e125fe88541u);
  EXPECT_EQ(checksum64("libquant", 8), 0xe085d52f8118c8c4u);
  EXPECT_EQ(checksum64("libquant", 8, 7), 0x810c67908302fbc5u);
  EXPECT_EQ(checksum64(bytes.data(), 32), 0x484ac03d1d4f3a6cu);
  EXPECT_EQ(checksum64(bytes.data(), 100, 1), 0x1892b441f60913e2u);
  EXPECT_EQ(checksum64(bytes.data(), 100, ~uint64_t(0)), 0x1189ad923e577061u);
  EXPECT_NE(checksum64(bytes.data(), 0), checksum64(bytes.data(), 1));  // a zero byte is not the same as none
}

class WrittenFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/lq_format_XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  size_t file_count() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }
  std::string folder_;
};

TEST_F(WrittenFile, ReadsBackAndReplacesWhatWasThere) {
  const std::string path = folder_ + "/m.lqm";
  std::ofstream(path) << "old";
  const Status written = write_model_file(sample_model(), path);
  ASSERT_TRUE(written.ok()) << written.message();
  EXPECT_EQ(file_count(), 1u);
  const Result<ModelIr> back = read_model_file(path);
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_same(sample_model().main(), back->main());
}

TEST_F(WrittenFile, FailureLeavesTheOldFileAndNothingElse) {
  const std::string path = folder_ + "/m.lqm";
  std::ofstream(path) << "old";
  ModelIr bad = sample_model();
  bad.main().nodes[0].inputs[0] = 100000;
  const Status refused = write_model_file(bad, path);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.message().rfind(path, 0), 0u) << refused.message();
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  EXPECT_EQ(file_count(), 1u);
  std::filesystem::create_directory(folder_ + "/taken.lqm");  // a rename over a folder fails
  EXPECT_FALSE(write_model_file(sample_model(), folder_ + "/taken.lqm").ok());
  EXPECT_EQ(file_count(), 2u);
  const Status missing = write_model_file(sample_model(), folder_ + "/none/m.lqm");
  EXPECT_EQ(missing.code(), StatusCode::kNotFound) << missing.message();
}

TEST_F(WrittenFile, MessagesStartWithThePath) {
  const std::string path = folder_ + "/m.lqm";
  EXPECT_EQ(read_model_file(path).status().code(), StatusCode::kNotFound);
  std::ofstream(path) << std::string(100, 'x');
  EXPECT_EQ(read_model_file(path).status().message().rfind(path, 0), 0u);
}

}  // namespace
}  // namespace lq
