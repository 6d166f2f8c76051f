#include "fuzz/models.h"

#include "passes/runtime_graphs.h"

namespace lq::fuzz {
namespace {

using testing::GraphBuilder;

/// Values that vary, small enough for every bound.
std::vector<int8_t> bytes(size_t n) {
  std::vector<int8_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = int8_t(int(i * 37 % 61) - 30);
  return v;
}
std::vector<float> floats(size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = float(int(i * 29 % 17) - 8) * 0.125f;
  return v;
}

/// What `quantize` writes: Q/DQ around convolutions (dense, depthwise, transposed), Add, pools, Concat, Resize, Gemm,
/// Softmax.
ModelIr quantized_net() {
  GraphBuilder g;
  TensorId x = g.through_int8(g.input("image", {1, 3, 12, 12}), 0.05f, -3);
  const TensorId w1 = g.weights("w1", {10, 3, 3, 3}, bytes(270), std::vector<float>(10, 0.02f), 0);
  TensorId c =
      g.node(Op::Conv, {x, w1, g.bias("b1", std::vector<int32_t>(10, 40), std::vector<float>(10, 0.05f * 0.02f))},
             {1, 10, 12, 12});
  g.attrs<schema::ConvAttrsT>().pads = {1, 1, 1, 1};
  c = g.through_int8(g.node(Op::Relu, {c}, {1, 10, 12, 12}), 0.1f, -128);
  const TensorId w2 = g.weights("w2", {10, 1, 3, 3}, bytes(90), std::vector<float>(10, 0.03f), 0);
  TensorId d = g.node(Op::Conv, {c, w2}, {1, 10, 12, 12});
  g.attrs<schema::ConvAttrsT>().pads = {1, 1, 1, 1};
  g.attrs<schema::ConvAttrsT>().groups = 10;
  d = g.through_int8(g.node(Op::Sigmoid, {g.through_int8(d, 0.2f, 0)}, {1, 10, 12, 12}), 1.0f / 256, -128);
  TensorId sum = g.through_int8(g.node(Op::Add, {c, d}, {1, 10, 12, 12}), 0.1f, -100);
  TensorId p = g.node(Op::MaxPool, {sum}, {1, 10, 6, 6});
  g.attrs<schema::PoolAttrsT>().kernel_shape = {2, 2};
  g.attrs<schema::PoolAttrsT>().strides = {2, 2};
  p = g.through_int8(p, 0.1f, -100);
  TensorId a = g.node(Op::AveragePool, {p}, {1, 10, 6, 6});
  g.attrs<schema::PoolAttrsT>().kernel_shape = {3, 3};
  g.attrs<schema::PoolAttrsT>().pads = {1, 1, 1, 1};
  a = g.through_int8(a, 0.1f, -100);
  TensorId cat = g.node(Op::Concat, {p, a}, {1, 20, 6, 6});
  g.attrs<schema::AxisAttrsT>().axis = 1;
  cat = g.through_int8(cat, 0.1f, -100);
  TensorId up = g.node(Op::Resize, {cat, kNoTensor, g.ints("sizes", {1, 20, 9, 9})}, {1, 20, 9, 9});
  g.attrs<schema::ResizeAttrsT>().mode = schema::ResizeMode::Linear;
  up = g.through_int8(up, 0.1f, -90);
  const TensorId wt = g.weights("wt", {20, 4, 2, 2}, bytes(320), std::vector<float>(4, 0.02f), 1);
  TensorId t = g.node(Op::ConvTranspose, {up, wt}, {1, 4, 18, 18});
  g.attrs<schema::ConvAttrsT>().strides = {2, 2};
  t = g.through_int8(t, 0.1f, 0);
  const TensorId gap = g.through_int8(g.node(Op::GlobalAveragePool, {t}, {1, 4, 1, 1}), 0.05f, 0);
  TensorId flat = g.node(Op::Flatten, {gap}, {1, 4});
  g.attrs<schema::AxisAttrsT>().axis = 1;
  flat = g.through_int8(flat, 0.05f, 0);
  const TensorId w3 = g.weights("w3", {5, 4}, bytes(20), std::vector<float>(5, 0.02f), 0);
  const TensorId logits = g.node(Op::Gemm, {flat, w3}, {1, 5});
  g.attrs<schema::GemmAttrsT>().trans_b = true;
  const TensorId soft = g.node(Op::Softmax, {logits}, {1, 5});
  g.attrs<schema::AxisAttrsT>().axis = -1;
  g.output(soft);
  g.output(t);
  return std::move(g.model);
}

/// A free batch, shape arithmetic, If with captured values, and operators that move data.
ModelIr control_net() {
  GraphBuilder g;
  const TensorId x = g.input("x", {-1, 4, 6}), flag = g.input("flag", {}, DType::Bool);
  g.graph().tensor(x).dim_names = {"N", "", ""};
  const TensorId shape = g.node(Op::Shape, {x}, {3}, DType::Int64);
  const TensorId first = g.node(Op::Gather, {shape, g.ints("zero", {0})}, {1}, DType::Int64);
  const TensorId target = g.node(Op::Concat, {first, g.ints("rest", {2, 12})}, {3}, DType::Int64);
  const TensorId y = g.node(Op::Reshape, {x, target}, {-1, 2, 12});
  const TensorId k = g.floats("k", {12}, floats(12));
  for (const Op op : {Op::Mul, Op::Sub}) {
    GraphBuilder b;
    const TensorId in = b.input("in", {-1, 2, 12}), by = b.input("by", {12});
    b.output(b.node(op, {in, by}, {-1, 2, 12}));
    g.model.graphs.push_back(std::move(b.model.graphs[0]));
  }
  const TensorId z = g.node(Op::If, {flag, y, k}, {-1, 2, 12});
  g.graph().nodes.back().subgraphs = {1, 2};
  const TensorId s =
      g.node(Op::Slice, {z, g.ints("starts", {1}), g.ints("ends", {11}), g.ints("axes", {2}), g.ints("steps", {2})},
             {-1, 2, 5});
  const TensorId pad = g.node(Op::Pad, {s, g.ints("pads", {0, 0, 1, 0, 0, 2})}, {-1, 2, 8});
  const TensorId tr = g.node(Op::Transpose, {pad}, {-1, 8, 2});
  g.attrs<schema::TransposeAttrsT>().perm = {0, 2, 1};
  const TensorId tile = g.node(Op::Tile, {tr, g.ints("repeats", {1, 1, 2})}, {-1, 8, 4});
  const TensorId filled =
      g.node(Op::ConstantOfShape, {g.ints("dims", {1, 8, 4}), g.floats("value", {1}, {0.5f})}, {1, 8, 4});
  const TensorId e =
      g.node(Op::Expand, {g.node(Op::Add, {tile, filled}, {-1, 8, 4}), g.ints("to", {1, 8, 4})}, {-1, 8, 4});
  const TensorId top = g.node(Op::TopK, {e, g.ints("count", {2})}, {-1, 8, 2});
  const TensorId index = g.tensor("index", DType::Int64, {-1, 8, 2});
  g.graph().nodes.back().outputs.push_back(index);
  g.attrs<schema::TopKAttrsT>().axis = -1;
  g.output(g.node(Op::ReduceMean, {top, g.ints("reduce", {1})}, {-1, 1, 2}));
  g.output(index);
  return std::move(g.model);
}

/// Float operators: norms, recurrences, Einsum, resizing, block moves, float convolution.
ModelIr float_net() {
  GraphBuilder g;
  const TensorId x = g.input("x", {1, 8, 4, 4});
  const TensorId eight = g.floats("eight", {8}, floats(8)), ones = g.floats("ones", {8}, std::vector<float>(8, 1.0f));
  TensorId t = g.node(Op::BatchNormalization, {x, ones, eight, eight, ones}, {1, 8, 4, 4});
  t = g.node(Op::InstanceNormalization, {t, ones, eight}, {1, 8, 4, 4});
  t = g.node(Op::Conv, {t, g.floats("w", {8, 4, 3, 3}, floats(288)), eight}, {1, 8, 4, 4});
  g.attrs<schema::ConvAttrsT>().groups = 2;
  g.attrs<schema::ConvAttrsT>().pads = {1, 1, 1, 1};
  t = g.node(Op::DepthToSpace, {t}, {1, 2, 8, 8});
  g.attrs<schema::BlockAttrsT>().block_size = 2;
  t = g.node(Op::Resize, {t, g.floats("scales", {4}, {1, 1, 1.5f, 0.5f})}, {1, 2, 12, 4});
  g.attrs<schema::ResizeAttrsT>().mode = schema::ResizeMode::Cubic;
  t = g.node(Op::Reshape, {t, g.ints("seq", {6, 2, 8})}, {6, 2, 8});
  t = g.node(Op::LayerNormalization, {t, ones, eight}, {6, 2, 8});
  t = g.node(Op::LSTM, {t, g.floats("lw", {1, 12, 8}, floats(96)), g.floats("lr", {1, 12, 3}, floats(36))},
             {6, 1, 2, 3});
  g.attrs<schema::RnnAttrsT>().hidden_size = 3;
  t = g.node(Op::Squeeze, {t, g.ints("one", {1})}, {6, 2, 3});
  t = g.node(Op::GRU, {t, g.floats("gw", {1, 6, 3}, floats(18)), g.floats("gr", {1, 6, 2}, floats(12))}, {6, 1, 2, 2});
  g.attrs<schema::RnnAttrsT>().hidden_size = 2;
  t = g.node(Op::Einsum, {t, g.floats("m", {2, 5}, floats(10))}, {6, 2, 5});
  g.attrs<schema::EinsumAttrsT>().equation = "sdbh,hk->sbk";
  t = g.node(Op::Where,
             {g.node(Op::Greater, {t, g.floats("half", {}, {0.5f})}, {6, 2, 5}, DType::Bool), t,
              g.node(Op::Gelu, {t}, {6, 2, 5})},
             {6, 2, 5});
  TensorId arg = g.node(Op::ArgMax, {t}, {6, 1, 5}, DType::Int64);
  g.attrs<schema::ArgMaxAttrsT>().axis = 1;
  arg = g.node(Op::Cast, {arg}, {6, 1, 5});
  g.attrs<schema::CastAttrsT>().to = DType::Float32;
  // 1024 words of 17 values: what a file stores as a palette.
  g.output(g.node(Op::Mul, {x, g.floats("grid", {8, 8, 4, 4}, floats(1024))}, {8, 8, 4, 4}));
  g.output(g.node(Op::MatMul, {g.node(Op::Mul, {t, arg}, {6, 2, 5}), g.floats("last", {5, 3}, floats(15))}, {6, 2, 3}));
  return std::move(g.model);
}

}  // namespace

std::vector<ModelIr> make_models() {
  std::vector<ModelIr> models;
  models.push_back(quantized_net());
  models.push_back(control_net());
  models.push_back(float_net());
  return models;
}

}  // namespace lq::fuzz
