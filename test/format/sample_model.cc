#include "format/sample_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "format/checksum.h"
#include "passes/runtime_graphs.h"

namespace lq::test {
namespace {

using testing::GraphBuilder;

/// One node for each attribute table, every field away from its default. Ranks are unknown, so only arity and
/// attributes count.
void add_attribute_nodes(GraphBuilder& g, TensorId x) {
  const auto call = [&](Op op, std::vector<TensorId> inputs, auto attrs) {
    const TensorId out = g.node(op, std::move(inputs), {});
    g.graph().tensor(out).ranked = false;
    g.graph().nodes.back().attrs.Set(std::move(attrs));
    return out;
  };
  schema::ConvAttrsT conv;
  conv.kernel_shape = {3, 5}, conv.strides = {2, 1}, conv.pads = {1, 0, 2, 0}, conv.dilations = {1, 2}, conv.groups = 2;
  conv.auto_pad = schema::AutoPad::SameLower, conv.output_padding = {1, 0}, conv.output_shape = {7, 8};
  call(Op::ConvTranspose, {x, x}, conv);
  schema::PoolAttrsT pool;
  pool.kernel_shape = {3, 2}, pool.strides = {2, 1}, pool.pads = {1, 0, 1, 0}, pool.dilations = {1, 2};
  pool.auto_pad = schema::AutoPad::Valid, pool.ceil_mode = pool.count_include_pad = true;
  call(Op::AveragePool, {x}, pool);
  schema::GemmAttrsT gemm;
  gemm.alpha = 0.5f, gemm.beta = 2, gemm.trans_a = gemm.trans_b = true;
  call(Op::Gemm, {x, x, x}, gemm);
  schema::EinsumAttrsT einsum;
  einsum.equation = "ij,jk->ik";
  call(Op::Einsum, {x, x}, einsum);
  schema::NormAttrsT norm;
  norm.epsilon = 1e-3f, norm.axis = -2;
  call(Op::LayerNormalization, {x, x}, norm);
  schema::ActivationAttrsT activation;
  activation.alpha = 0.25f, activation.beta = 0.5f, activation.gamma = 1.5f;
  call(Op::HardSigmoid, {x}, activation);
  schema::GeluAttrsT gelu;
  gelu.tanh_approximation = true;
  call(Op::Gelu, {x}, gelu);
  schema::CastAttrsT cast;
  cast.to = DType::Float32;
  call(Op::Cast, {x}, cast);
  schema::AxisAttrsT axis;
  axis.axis = -3;
  call(Op::Softmax, {x}, axis);
  schema::ReduceAttrsT reduce;
  reduce.keepdims = false, reduce.noop_with_empty_axes = true;
  call(Op::ReduceSum, {x}, reduce);
  schema::ArgMaxAttrsT arg;
  arg.axis = 2, arg.keepdims = false, arg.select_last_index = true;
  g.graph().tensor(call(Op::ArgMax, {x}, arg)).dtype = DType::Int64;
  schema::TopKAttrsT top;
  top.axis = 1, top.largest = top.sorted = false;
  call(Op::TopK, {x, g.ints("k", {2})}, top);
  const TensorId indices = g.tensor("indices", DType::Int64, {});
  g.graph().tensor(indices).ranked = false;
  g.graph().nodes.back().outputs.push_back(indices);
  schema::PadAttrsT pad;
  pad.mode = schema::PadMode::Edge;
  call(Op::Pad, {x, g.ints("pads", {1, 2})}, pad);
  schema::ReshapeAttrsT reshape;
  reshape.allow_zero = true;
  call(Op::Reshape, {x, g.ints("shape", {1, 2})}, reshape);
  schema::TransposeAttrsT transpose;
  transpose.perm = {1, 0};
  call(Op::Transpose, {x}, transpose);
  schema::ResizeAttrsT resize;
  resize.mode = schema::ResizeMode::Cubic, resize.coordinate_mode = schema::CoordinateMode::AlignCorners;
  resize.nearest_mode = schema::NearestMode::Ceil, resize.cubic_coeff_a = -0.5f, resize.exclude_outside = true;
  resize.extrapolation_value = 3, resize.antialias = true, resize.aspect_policy = schema::AspectPolicy::NotSmaller;
  resize.axes = {2, 3}, resize.roi = {0, 0.5f, 1, 1};
  call(Op::Resize, {x, kNoTensor, g.ints("sizes", {4, 5})}, resize);
  schema::BlockAttrsT block;
  block.block_size = 2, block.crd = true;
  call(Op::DepthToSpace, {x}, block);
  schema::ShapeAttrsT shape;
  shape.start = 1, shape.end = -1;
  g.graph().tensor(call(Op::Shape, {x}, shape)).dtype = DType::Int64;
  schema::RnnAttrsT rnn;
  rnn.hidden_size = 4, rnn.direction = schema::RnnDirection::Reverse, rnn.batch_first = rnn.linear_before_reset = true;
  rnn.clip = 2.5f, rnn.activations = {"Sigmoid", "Tanh"}, rnn.activation_alpha = {0.5f}, rnn.activation_beta = {0.25f};
  rnn.input_forget = true;
  call(Op::GRU, {x, x, x}, rnn);
  schema::ModAttrsT mod;
  mod.fmod = true;
  call(Op::Mod, {x, x}, mod);
  schema::CustomAttrsT custom;
  custom.domain = "com.example", custom.name = "Special", custom.blob = {1, 2, 0, 255};
  call(Op::Custom, {x}, custom);
}

Graph branch(Op op) {
  GraphBuilder g;
  g.graph().name = op_name(op);
  const TensorId in = g.input("in", {1, 4});
  g.output(g.node(op, {in, in}, {1, 4}));
  return std::move(g.model.graphs[0]);
}

void add_meta_data(ModelIr& m) {
  m.producer = "sample 1.0";
  m.options = "--method kl";
  schema::InputInfoT info;
  info.name = "x";
  info.preprocessing = std::make_unique<schema::PreprocessingT>();
  schema::PreprocessingT& p = *info.preprocessing;
  p.color = schema::Color::Bgr, p.mean = {1, 2, 3}, p.std = {4, 5, 6}, p.layout = schema::DataLayout::Nhwc,
  p.ignore_exif = true;
  p.steps.push_back(std::make_unique<schema::PreprocessStepT>());
  p.steps[0]->kind = schema::PreprocessKind::Letterbox, p.steps[0]->width = 640, p.steps[0]->height = 480;
  m.inputs.push_back(std::move(info));
  schema::GoldenT golden;
  golden.seed = 7, golden.shapes = {1, 4}, golden.ranks = {2}, golden.output_hash = 0xfedcba9876543210;
  m.golden = golden;
  schema::MetadataT entry;
  entry.key = "licence", entry.value = "none";
  m.metadata.push_back(entry);
}

bool is_boundary(Op op) { return op == Op::QuantizeLinear || op == Op::DequantizeLinear; }

void expect_same_tensor(const Tensor& s, const Tensor& t) {
  SCOPED_TRACE(s.name);
  EXPECT_EQ(s.dtype, t.dtype);
  EXPECT_EQ(s.ranked, t.ranked);
  EXPECT_EQ(s.shape, t.shape);
  EXPECT_EQ(s.dim_names, t.dim_names);
  ASSERT_EQ(s.is_constant(), t.is_constant());
  ASSERT_EQ(s.data.size(), t.data.size());
  EXPECT_TRUE(std::equal(s.data.data(), s.data.data() + s.data.size(), t.data.data()));
  ASSERT_EQ(s.quant.has_value(), t.quant.has_value());
  if (s.quant) {
    QuantParams expected = *s.quant, actual = *t.quant;
    for (QuantParams* p : {&expected, &actual}) {  // no list says 0 for every channel as well
      if (p->zero_point == std::vector<int32_t>(p->zero_point.size(), 0)) p->zero_point.clear();
    }
    EXPECT_TRUE(expected == actual);
  }
  ASSERT_EQ(s.range.has_value(), t.range.has_value());
  const ValueRange from = s.range.value_or(ValueRange{}), to = t.range.value_or(ValueRange{});
  EXPECT_TRUE(from.min == to.min && from.max == to.max);
}

/// Compares operators in order, each tensor followed through those nodes to what they read.
class SameGraph {
 public:
  SameGraph(const Graph& a, const Graph& b) : a_(a), b_(b), from_a_(producers_of(a)), from_b_(producers_of(b)) {}

  void check() {
    EXPECT_EQ(a_.name, b_.name);
    const std::vector<const Node*> nodes = operators(a_), others = operators(b_);
    ASSERT_EQ(nodes.size(), others.size());
    EXPECT_EQ(a_.nodes.size(), b_.nodes.size());
    EXPECT_EQ(a_.tensors.size(), b_.tensors.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node &s = *nodes[i], &t = *others[i];
      SCOPED_TRACE(node_label(a_, s));
      EXPECT_EQ(s.op, t.op);
      EXPECT_EQ(s.name, t.name);
      EXPECT_EQ(s.subgraphs, t.subgraphs);
      EXPECT_TRUE(s.attrs == t.attrs);
      check(s.inputs, t.inputs);
      check(s.outputs, t.outputs);
    }
    check(a_.inputs, b_.inputs);
    check(a_.outputs, b_.outputs);
  }

 private:
  static std::vector<const Node*> operators(const Graph& graph) {
    std::vector<const Node*> nodes;
    for (const Node& node : graph.nodes) {
      if (!is_boundary(node.op)) nodes.push_back(&node);
    }
    return nodes;
  }
  void check(const std::vector<TensorId>& a, const std::vector<TensorId>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) check(a[i], b[i]);
  }
  void check(TensorId a, TensorId b) {
    EXPECT_EQ(a == kNoTensor, b == kNoTensor);
    if (a == kNoTensor || b == kNoTensor) return;
    const Tensor &s = a_.tensor(a), &t = b_.tensor(b);
    expect_same_tensor(s, t);
    const int p = from_a_[size_t(a)], q = from_b_[size_t(b)];
    ASSERT_EQ(p < 0, q < 0);
    const bool boundary = p >= 0 && is_boundary(a_.nodes[size_t(p)].op);
    if (!boundary) {
      EXPECT_EQ(s.name, t.name);
      return;
    }
    ASSERT_EQ(a_.nodes[size_t(p)].op, b_.nodes[size_t(q)].op);
    check(a_.nodes[size_t(p)].inputs, b_.nodes[size_t(q)].inputs);
  }

  const Graph &a_, &b_;
  const std::vector<int> from_a_, from_b_;
};

}  // namespace

void expect_same(const Graph& a, const Graph& b) { SameGraph(a, b).check(); }

ModelIr sample_model() {
  GraphBuilder g;
  g.graph().name = "main";
  const TensorId x = g.input("x", {-1, 4});
  g.graph().tensor(x).dim_names = {"N", ""};
  g.graph().tensor(x).range = ValueRange{-1.5f, 2.25f};
  const TensorId any = g.input("any", {});
  g.graph().tensor(any).ranked = false;
  const TensorId flag = g.input("flag", {}, DType::Bool);
  const TensorId q = g.through_int8(x, 0.5f, 3);
  const std::vector<int8_t> values{1, -2, 3, -4, 5, -6, 7, -8};
  const TensorId w = g.weights("w", {2, 4}, values, {0.5f, 0.25f}, 0);
  g.weights("w_again", {2, 4}, values, {0.125f, 2.0f}, 0);  // the same bytes
  const TensorId y = g.node(Op::Gemm, {q, w, g.bias("b", {100, -200}, {0.25f, 0.125f})}, {-1, 2});
  g.attrs<schema::GemmAttrsT>().trans_b = true;
  g.output(y);
  g.output(g.node(Op::If, {flag, x}, {1, 4}));
  g.graph().nodes.back().subgraphs = {1, 2};
  add_attribute_nodes(g, any);
  ModelIr m = std::move(g.model);
  m.graphs.push_back(branch(Op::Add));
  m.graphs.push_back(branch(Op::Mul));
  add_meta_data(m);
  return m;
}

FileHeader header_of(const std::string& file) {
  FileHeader h;
  std::memcpy(&h, file.data(), sizeof h);
  return h;
}

std::string with_header(std::string file, FileHeader h) {
  h.header_checksum = checksum64(&h, offsetof(FileHeader, header_checksum));
  std::memcpy(file.data(), &h, sizeof h);
  return file;
}

std::string with_graph_bytes(const std::string& file, const uint8_t* graph, size_t size) {
  FileHeader h = header_of(file);
  const std::string weights = file.substr(h.weights_offset, h.weights_size);
  h.graph_size = size;
  h.graph_checksum = checksum64(graph, size);
  h.weights_offset = align_up(h.graph_offset + h.graph_size);
  std::string out(h.weights_offset, '\0');
  std::memcpy(out.data() + h.graph_offset, graph, size);
  return with_header(out + weights, h);
}

std::string with_graph(const std::string& file, const std::function<void(schema::ModelT&)>& change) {
  schema::ModelT m;
  schema::GetModel(file.data() + header_of(file).graph_offset)->UnPackTo(&m);
  change(m);
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &m));
  return with_graph_bytes(file, builder.GetBufferPointer(), builder.GetSize());
}

std::string bytes_of(const ModelIr& model) {
  const Result<Bytes> bytes = serialize_model(model);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : std::string();
}

Result<ModelIr> read_string(const std::string& file) { return read_model(*Bytes::copy_of(file.data(), file.size())); }

}  // namespace lq::test
