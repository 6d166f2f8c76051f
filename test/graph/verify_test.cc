// The verifier: one sound quantized model, and one case for every kind of damage a file may carry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <limits>

#include "graph_builder.h"

namespace lq {
namespace {

using test::Builder;
using testing::HasSubstr;

/// x float -> Q -> DQ -> Conv(int8 w, int32 b) -> Relu -> Q -> DQ -> y. Ids are fixed by the order of creation.
struct QuantizedConv {
  ModelIr model;
  TensorId x, xq, w, bias, yq, y;
  Graph& graph() { return model.main(); }
  QuantizedConv() {
    Builder b(model);
    x = b.input("x", {1, 2, 4, 4});
    xq = b.call(Op::QuantizeLinear, {x});
    quantize(xq, {1, 2, 4, 4}, per_tensor_params(DType::Int8, 0.5f, -128));
    w = b.constant<int8_t>(DType::Int8, {3, 2, 1, 1}, {127, -127, 5, 6, 0, 0});
    graph().tensor(w).quant = per_channel_weights({0.1f, 0.2f, 1.0f}, 0);
    bias = b.constant<int32_t>(DType::Int32, {3}, {100, -100, 0});
    QuantParams p = per_tensor_params(DType::Int32, 1, 0);
    p.granularity = schema::Granularity::PerChannel;
    p.axis = 0;
    p.scale = {0.05f, 0.1f, 0.5f};
    p.zero_point = {0, 0, 0};
    graph().tensor(bias).quant = p;
    const TensorId xf = b.call(Op::DequantizeLinear, {xq}), wf = b.call(Op::DequantizeLinear, {w}),
                   bf = b.call(Op::DequantizeLinear, {bias});
    const TensorId c = b.call(Op::Conv, {xf, wf, bf}, schema::ConvAttrsT());
    yq = b.call(Op::QuantizeLinear, {b.call(Op::Relu, {c})});
    quantize(yq, {1, 3, 4, 4}, per_tensor_params(DType::Int8, 0.25f, -128));
    y = b.call(Op::DequantizeLinear, {yq});
    graph().outputs = {y};
    graph().tensor(y).name = "y";
  }
  void quantize(TensorId id, Shape shape, QuantParams p) {
    Tensor& t = graph().tensor(id);
    t.dtype = p.dtype;
    t.ranked = true;
    t.shape = std::move(shape);
    t.quant = std::move(p);
  }
  Node& node(Op op) {
    for (Node& n : graph().nodes) {
      if (n.op == op) return n;
    }
    ADD_FAILURE();
    return graph().nodes[0];
  }
};

TEST(Verify, AcceptsASoundModel) {
  QuantizedConv m;
  EXPECT_TRUE(verify(m.model).ok()) << verify(m.model).message();
}

struct Damage {
  const char* name;
  std::function<void(QuantizedConv&)> apply;
  const char* message;
};

const std::vector<Damage>& damages() {
  static const auto* const kList = new std::vector<Damage>{
      {"input_id", [](auto& m) { m.node(Op::Conv).inputs[0] = 999; }, "input id 999 does not exist"},
      {"negative_id", [](auto& m) { m.node(Op::Conv).inputs[2] = -7; }, "input id -7 does not exist"},
      {"output_id", [](auto& m) { m.node(Op::Conv).outputs[0] = 1 << 30; }, "does not exist"},
      {"graph_output_id", [](auto& m) { m.graph().outputs = {-1}; }, "graph output id -1"},
      {"no_output", [](auto& m) { m.graph().outputs.clear(); }, "no output"},
      {"graph_input_id", [](auto& m) { m.graph().inputs.push_back(500); }, "graph input id 500"},
      {"input_twice", [](auto& m) { m.graph().inputs.push_back(m.x); }, "listed twice"},
      {"input_constant", [](auto& m) { m.graph().inputs.push_back(m.w); }, "an input and a constant"},
      {"input_unnamed", [](auto& m) { m.graph().tensor(m.x).name.clear(); }, "no name"},
      {"output_unnamed", [](auto& m) { m.graph().tensor(m.y).name.clear(); }, "no name"},
      {"order", [](auto& m) { std::swap(m.graph().nodes[0], m.graph().nodes[1]); }, "before it is produced"},
      {"two_producers", [](auto& m) { m.node(Op::Relu).outputs = m.node(Op::Conv).outputs; }, "produced twice"},
      {"writes_constant", [](auto& m) { m.node(Op::Relu).outputs = {m.w}; }, "produced twice"},
      {"unknown_op", [](auto& m) { m.node(Op::Relu).op = Op(17); }, "unknown operator 17"},
      {"runtime_op", [](auto& m) { m.node(Op::Relu).op = Op::Requantize; }, "cannot be stored"},
      {"arity", [](auto& m) { m.node(Op::Conv).inputs.resize(1); }, "has 1 inputs, expected 2 to 3"},
      {"missing_input", [](auto& m) { m.node(Op::Conv).inputs[1] = kNoTensor; }, "required inputs (1) is missing"},
      {"attrs_kind", [](auto& m) { m.node(Op::Conv).attrs.Set(schema::PoolAttrsT()); }, "attributes of kind PoolAttrs"},
      {"attrs_value", [](auto& m) { mutable_attrs<schema::ConvAttrsT>(m.node(Op::Conv)).groups = 0; }, "groups is 0"},
      {"stray_branches", [](auto& m) { m.node(Op::Conv).subgraphs = {0}; }, "only If may have"},
      {"fused_clamp",
       [](auto& m) {
         m.node(Op::Conv).fused_clamp = ValueRange{0, 6};
       },
       "fused clamp"},
      {"dtype", [](auto& m) { m.graph().tensor(m.x).dtype = DType(77); }, "unknown type 77"},
      {"rank", [](auto& m) { m.graph().tensor(m.x).shape = Shape(9, 1); }, "rank 9"},
      {"dim", [](auto& m) { m.graph().tensor(m.x).shape[0] = -2; }, "dimension -2"},
      {"dim_large", [](auto& m) { m.graph().tensor(m.x).shape[0] = int64_t(1) << 32; }, "out of range"},
      {"shape_product", [](auto& m) { m.graph().tensor(m.x).shape = Shape(4, int64_t(1) << 31); }, "too large"},
      {"dim_names", [](auto& m) { m.graph().tensor(m.x).dim_names = {"N"}; }, "dimension names"},
      {"blocked", [](auto& m) { m.graph().tensor(m.x).blocked_axis = 1; }, "blocked layout"},
      {"constant_size", [](auto& m) { m.graph().tensor(m.w).shape[0] = 4; }, "has 6 bytes"},
      {"constant_open", [](auto& m) { m.graph().tensor(m.w).shape[1] = -1; }, "needs a known shape"},
      {"constant_type", [](auto& m) { m.graph().tensor(m.bias).dtype = DType::Int4; }, "not supported"},
      {"range",
       [](auto& m) {
         m.graph().tensor(m.x).range = ValueRange{1, -1};
       },
       "range"},
      {"range_infinite",
       [](auto& m) {
         m.graph().tensor(m.x).range = ValueRange{0, std::numeric_limits<float>::infinity()};
       },
       "range"},
      {"scale_zero", [](auto& m) { m.graph().tensor(m.xq).quant->scale = {0}; }, "not valid"},
      {"scale_nan", [](auto& m) { m.graph().tensor(m.xq).quant->scale = {std::numeric_limits<float>::quiet_NaN()}; },
       "not valid"},
      {"scale_subnormal", [](auto& m) { m.graph().tensor(m.xq).quant->scale = {1e-40f}; }, "not valid"},
      {"zero_point", [](auto& m) { m.graph().tensor(m.xq).quant->zero_point = {300}; }, "not valid"},
      {"limits", [](auto& m) { m.graph().tensor(m.xq).quant->qmax = 128; }, "not valid"},
      {"quant_type", [](auto& m) { m.graph().tensor(m.xq).dtype = DType::UInt8; }, "another type"},
      {"granularity", [](auto& m) { m.graph().tensor(m.xq).quant->granularity = schema::Granularity::PerBlock; },
       "per-tensor and per-channel"},
      {"scale_source", [](auto& m) { m.graph().tensor(m.xq).quant->scale_source = schema::ScaleSource::Tensor; },
       "literal scales"},
      {"channel_count",
       [](auto& m) {
         m.graph().tensor(m.w).quant = per_channel_weights({1, 1}, 0);
       },
       "2 scales for an axis of 3"},
      {"channel_axis", [](auto& m) { m.graph().tensor(m.w).quant->axis = 4; }, "axis is not one"},
      {"weight_axis",
       [](auto& m) {
         m.graph().tensor(m.w).quant = per_channel_weights({1, 1}, 1);
       },
       "needs 3 along axis 0"},
      {"weight_zero_point", [](auto& m) { m.graph().tensor(m.w).quant = per_tensor_params(DType::Int8, 1, 2); },
       "zero point 0"},
      {"weight_limits",
       [](auto& m) {
         const int8_t v[6] = {-128, 0, 0, 0, 0, 0};
         m.graph().tensor(m.w).data = *Bytes::copy_of(v, 6);
         m.graph().tensor(m.w).quant->qmin = -128;
       },
       "-127...127"},
      {"value_outside_limits",
       [](auto& m) {
         const int8_t v[6] = {-128, 0, 0, 0, 0, 0};
         m.graph().tensor(m.w).data = *Bytes::copy_of(v, 6);
       },
       "outside the tensor's own limits"},
      // 255 · 254 + bias > 2^31 − 1 with bias 2^31 − 1.
      {"bound",
       [](auto& m) {
         const int32_t v[3] = {2147483647, 0, 0};
         m.graph().tensor(m.bias).data = *Bytes::copy_of(v, 12);
       },
       "channel 0 can exceed the 32-bit accumulator"},
      {"bias_zero_point",
       [](auto& m) {
         m.graph().tensor(m.bias).quant->zero_point = {0, 1, 0};
       },
       "zero point 0"},
      {"scale_product", [](auto& m) { m.graph().tensor(m.xq).quant->scale = {2e-38f}; }, "not a normal number"},
      {"multiplier",
       [](auto& m) {
         m.graph().tensor(m.yq).quant->scale = {1.2e-38f};
         m.graph().tensor(m.xq).quant->scale = {1e10f};
       },
       "not a normal number"},
      // 128 · 3e36 > FLT_MAX.
      {"scale_overflow", [](auto& m) { m.graph().tensor(m.yq).quant = per_tensor_params(DType::Int8, 3e36f, 0); },
       "dequantized values are infinite"},
      {"weight_scale_overflow", [](auto& m) { m.graph().tensor(m.w).quant->scale[2] = 3e36f; }, "scale 2 is so large"},
      {"bias_scale_overflow", [](auto& m) { m.graph().tensor(m.bias).quant->scale[0] = 1e37f; },  // · 100
       "scale 0 is so large"},
      // A change of scale whose Dequantize has two readers.
      {"rescale",
       [](auto& m) {
         for (int i = 0; i < 2; ++i) {
           const TensorId id = m.graph().add_tensor(m.graph().tensor(m.yq));
           m.graph().tensor(id).quant->scale = {1e-38f + 1e-38f};
           Node node;
           node.op = Op::QuantizeLinear;
           node.inputs = {m.y};
           node.outputs = {id};
           m.graph().nodes.push_back(node);
         }
         m.graph().tensor(m.yq).quant->scale = {1e10f};
         m.graph().tensor(m.xq).quant->scale = {1e10f};
       },
       "not a normal number"},
      {"quantize_without_params", [](auto& m) { m.graph().tensor(m.yq).quant.reset(); },
       "has no quantization parameters"},
      {"dequantize_float", [](auto& m) { m.graph().nodes[1].inputs = {m.x}; }, "has no quantization parameters"},
      {"float_op_reads_int8", [](auto& m) { m.node(Op::Conv).inputs[0] = m.xq; }, "only DequantizeLinear may"},
      {"float_op_writes_int8",
       [](auto& m) {
         Tensor& t = m.graph().tensor(m.node(Op::Relu).outputs[0]);
         t.quant = per_tensor_params(DType::Int8, 1, 0);
         t.dtype = DType::Int8;
       },
       "only"},
      {"integer_mode", [](auto& m) { m.model.arithmetic = schema::ArithmeticMode::IntegerRequantize; },
       "integer requantization"},
      {"stray_graph", [](auto& m) { m.model.graphs.push_back(m.model.graphs[0]); }, "belongs to no If"},
      {"no_graph", [](auto& m) { m.model.graphs.clear(); }, "no graph"},
  };
  return *kList;
}

class VerifyRefuses : public testing::TestWithParam<Damage> {};
TEST_P(VerifyRefuses, WithAReason) {
  QuantizedConv m;
  GetParam().apply(m);
  const Status s = verify(m.model);
  EXPECT_FALSE(s.ok());
  EXPECT_THAT(s.message(), HasSubstr(GetParam().message));
  EXPECT_TRUE(s.code() == StatusCode::kCorrupt || s.code() == StatusCode::kUnsupported);
}
INSTANTIATE_TEST_SUITE_P(Damages, VerifyRefuses, testing::ValuesIn(damages()),
                         [](const testing::TestParamInfo<Damage>& info) { return std::string(info.param.name); });

/// y = if (cond) exp(x) else -x.
struct IfModel {
  ModelIr model;
  IfModel() {
    model.graphs.resize(3);
    Builder b(model), then(model, 1), otherwise(model, 2);
    const TensorId x = b.input("x", {2}), cond = b.input("cond", {}, DType::Bool), y = b.tensor("y", DType::Float32);
    b.node(Op::If, {cond, x}, {y}).subgraphs = {1, 2};
    b.graph().outputs = {y};
    for (Builder* g : {&then, &otherwise}) g->graph().inputs = {g->tensor("x", DType::Float32)};
    then.graph().outputs = {then.call(Op::Exp, {0})};
    otherwise.graph().outputs = {otherwise.call(Op::Neg, {0})};
    for (Builder* g : {&then, &otherwise}) g->graph().tensor(1).dtype = DType::Float32;
  }
  Node& choose() { return model.main().nodes[0]; }
};

TEST(VerifyIf, AcceptsAndRefuses) {
  auto message = [](const std::function<void(IfModel&)>& damage) {
    IfModel m;
    damage(m);
    return verify(m.model).message();
  };
  EXPECT_EQ(message([](IfModel&) {}), "");
  EXPECT_THAT(message([](IfModel& m) { m.choose().subgraphs = {1}; }), HasSubstr("two branches"));
  EXPECT_THAT(message([](IfModel& m) { m.choose().subgraphs = {1, 3}; }), HasSubstr("branch graph 3 does not exist"));
  EXPECT_THAT(message([](IfModel& m) { m.choose().subgraphs = {1, 1}; }), HasSubstr("another use"));
  EXPECT_THAT(message([](IfModel& m) { m.choose().subgraphs = {1, 0}; }), HasSubstr("another use"));
  EXPECT_THAT(message([](IfModel& m) { m.choose().inputs.pop_back(); }), HasSubstr("not as many inputs"));
  EXPECT_THAT(message([](IfModel& m) { m.model.graphs[2].outputs.push_back(0); }), HasSubstr("not as many outputs"));
  EXPECT_THAT(message([](IfModel& m) { m.model.graphs[2].tensor(0).dtype = DType::Int64; }),
              HasSubstr("another type than it is captured"));
  EXPECT_THAT(message([](IfModel& m) { m.model.graphs[2].nodes[0].inputs = {5}; }), HasSubstr("input id 5"));
}

TEST(VerifyIf, RefusesACircleOfBranches) {
  // Graphs 3 and 4 are branches of an If in graph 3 itself: nothing above reaches them.
  IfModel m;
  m.model.graphs.push_back(m.model.graphs[0]);
  m.model.graphs[3].nodes[0].subgraphs = {3, 4};
  m.model.graphs[3].inputs = {0};
  m.model.graphs[3].tensor(1).data = *Bytes::copy_of("\1", 1);
  m.model.graphs.push_back(m.model.graphs[1]);
  EXPECT_THAT(verify(m.model).message(), HasSubstr("in a circle"));
}

/// A window divides an average's multiplier further: 2^-90 is the least it may start from.
TEST(Verify, AverageLeavesRoomForItsWindow) {
  const auto message = [](float ratio) {
    ModelIr model;
    Builder b(model);
    const auto quantized = [&](TensorId x, float scale) {
      const TensorId q = b.call(Op::QuantizeLinear, {x});
      Tensor& t = b.graph().tensor(q);
      t.dtype = DType::Int8;
      t.quant = per_tensor_params(DType::Int8, scale, 0);
      return b.call(Op::DequantizeLinear, {q});
    };
    const TensorId x = quantized(b.input("x", {1, 2, 4, 4}), ratio);
    const TensorId y = quantized(b.call(Op::GlobalAveragePool, {x}), 1);
    b.graph().tensor(y).name = "y";
    b.graph().outputs = {y};
    return verify(model).message();
  };
  EXPECT_EQ(message(0x1p-89f), "");
  EXPECT_THAT(message(0x1p-91f), HasSubstr("not a normal number"));
}

/// A file of megabytes may let each of its hundred thousand tensors and products name its largest constant.
TEST(Verify, SharedConstantsAreReadOnce) {
  ModelIr model;
  Builder b(model);
  constexpr int64_t kSide = 2048, kUses = 20000;  // 4 MB, read each time: 80 GB
  const TensorId x = b.input("x", {1, kSide});
  const TensorId q = b.call(Op::QuantizeLinear, {x});
  b.graph().tensor(q).dtype = DType::Int8;
  b.graph().tensor(q).quant = per_tensor_params(DType::Int8, 0.5f, 0);
  const TensorId xf = b.call(Op::DequantizeLinear, {q});
  const TensorId w = b.constant<int8_t>(DType::Int8, {kSide, kSide}, std::vector<int8_t>(kSide * kSide, 1));
  b.graph().tensor(w).quant = per_tensor_params(DType::Int8, 0.5f, 0);
  b.graph().tensor(w).quant->qmin = -127;
  TensorId y = kNoTensor;
  for (int64_t i = 0; i < kUses; ++i) {
    const TensorId again = b.graph().add_tensor(b.graph().tensor(w));
    y = b.call(Op::MatMul, {xf, b.call(Op::DequantizeLinear, {again})});
  }
  b.graph().tensor(y).name = "y";
  b.graph().outputs = {y};
  const std::clock_t start = std::clock();  // of this process: others may be busy
  const Status status = verify(model);
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LT(seconds, 8);
  // As many channels as weights, and every product another way to read them: refused, not read.
  for (int64_t rows = 1; rows <= 64; rows *= 2) {
    for (int64_t depth = 1; depth <= 64; depth *= 2) {
      const TensorId again = b.graph().add_tensor(b.graph().tensor(w));
      b.graph().tensor(again).shape = {rows, depth, kSide * kSide / rows / depth};
      y = b.call(Op::MatMul, {xf, b.call(Op::DequantizeLinear, {again})});
    }
  }
  EXPECT_THAT(verify(model).message(), HasSubstr("read the same constants"));
}

TEST(Verify, GroupedConvTransposeWeights) {
  // w [4, 3, 1] in 2 groups: 6 output channels, 6 scales along axis 1.
  ModelIr model;
  Builder b(model);
  const TensorId x = b.input("x", {1, 4, 5});
  const TensorId w = b.constant<int8_t>(DType::Int8, {4, 3, 1}, std::vector<int8_t>(12, 1));
  b.graph().tensor(w).quant = per_channel_weights(std::vector<float>(6, 0.5f), 1);
  schema::ConvAttrsT a;
  a.groups = 2;
  const TensorId y = b.call(Op::ConvTranspose, {x, b.call(Op::DequantizeLinear, {w})}, a);
  b.graph().outputs = {y};
  EXPECT_TRUE(verify(model).ok()) << verify(model).message();
  b.graph().tensor(w).quant->scale.resize(3);
  b.graph().tensor(w).quant->zero_point.resize(3);
  EXPECT_THAT(verify(model).message(), HasSubstr("needs 6 along axis 1"));
  b.graph().tensor(w).quant = per_channel_weights(std::vector<float>(9, 0.5f), 1);  // 3 groups do not divide 4 inputs
  EXPECT_THAT(verify(model).message(), HasSubstr("9 scales for an axis of 3"));
}

}  // namespace
}  // namespace lq
