#include "reference/rules/rule_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "format/model_file.h"
#include "graph/op_def.h"
#include "kernels/cpu_features.h"
#include "runtime/golden.h"
#include "runtime/session.h"

namespace lq::reference {

int random_rounds() {
  const char* text = std::getenv("LQ_RANDOM_ROUNDS");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

uint64_t Rng::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

QuantParams RuleGraph::params(float scale) {
  const int32_t zero_point =
      rng.pick<int32_t>({-128, 127, 0, int32_t(rng.between(-128, 127)), int32_t(rng.between(-128, 127))});
  QuantParams p = per_tensor_params(DType::Int8, scale, zero_point);
  if (rng.chance(8)) p.qmin = std::min(zero_point, -127);  // symmetric range of some other tools
  return p;
}

QuantParams RuleGraph::int16_params(float scale, int32_t qmax) {
  QuantParams p = per_tensor_params(DType::Int16, scale, 0);
  p.qmin = qmax == 32767 && rng.chance(8) ? -32768 : -qmax;
  p.qmax = qmax;
  return p;
}

float RuleGraph::scale_near(double wanted, double unit) {
  if (rng.chance(2)) return float(wanted);
  return float(unit * 2 * std::max(1.0, std::round(wanted / unit / 2)) * rng.pick({0.25, 1.0, 1.0, 1.0}));
}

TensorId RuleGraph::activation(const std::string& name, Shape shape, const QuantParams& p) {
  const TensorId x = input(name, std::move(shape));
  // What check() draws inputs from: a little more than the quantized range, so that both ends saturate.
  const float low = float(p.qmin - p.zero_point[0]) * p.scale[0], high = float(p.qmax - p.zero_point[0]) * p.scale[0];
  graph().tensor(x).range = ValueRange{low * 1.1f - p.scale[0], high * 1.1f + p.scale[0]};
  return dequantize(quantize(x, p));
}

TensorId RuleGraph::quantized_constant(const std::string& name, Shape shape, const QuantParams& p) {
  const size_t count = size_t(element_count(shape)), size = dtype_size(p.dtype);
  std::vector<uint8_t> values(count * size);
  for (size_t i = 0; i < count; ++i) {
    const int64_t v = rng.between(p.qmin, p.qmax);
    std::memcpy(values.data() + i * size, &v, size);  // little-endian: the low bytes
  }
  const TensorId id = graph().add_constant(name, p.dtype, std::move(shape), values.data());
  graph().tensor(id).quant = p;
  return dequantize(id);
}

TensorId RuleGraph::random_weights(Shape shape, int axis, int64_t channels, std::vector<float>* scales) {
  std::vector<int8_t> values(static_cast<size_t>(element_count(shape)));
  const int kind = int(rng.between(0, 5));  // 0: only extremes, 1: all the same extreme, else uniform
  const int8_t extreme = rng.chance(2) ? int8_t(127) : int8_t(-127);
  for (int8_t& v : values)
    v = kind == 0 ? rng.pick<int8_t>({-127, 127}) : kind == 1 ? extreme : int8_t(rng.between(-127, 127));
  const bool per_tensor = rng.chance(6);
  scales->clear();
  const bool related = rng.chance(2);  // powers of two apart: ties in every channel, see scale_near
  const float base = rng.uniform(0.005f, 0.01f);
  for (int64_t c = 0; c < (per_tensor ? 1 : channels); ++c) {
    scales->push_back(related ? base * rng.pick({1.0f, 2.0f, 0.5f}) : rng.uniform(0.001f, 0.02f));
  }
  const TensorId id = graph().add_constant(unique("w"), DType::Int8, std::move(shape), values.data());
  graph().tensor(id).quant = per_channel_weights(*scales, axis);
  if (per_tensor) {
    graph().tensor(id).quant = per_tensor_params(DType::Int8, scales->front(), 0);
    graph().tensor(id).quant->qmin = -127;
    scales->assign(size_t(channels), scales->front());
  }
  return dequantize(id);
}

TensorId RuleGraph::random_bias(float s_x, const std::vector<float>& scales) {
  const int64_t limit = rng.pick<int64_t>({0, 1000, 100000, 1000000000});
  std::vector<int32_t> values;
  std::vector<float> units;
  for (float s : scales) {
    values.push_back(int32_t(rng.between(-limit, limit)));
    units.push_back(float(double(s_x) * double(s)));
  }
  return bias(unique("b"), values, units);
}

TensorId RuleGraph::random_clamp(TensorId x, const QuantParams& p) {
  const float low = float(p.qmin - p.zero_point[0]) * p.scale[0], high = float(p.qmax - p.zero_point[0]) * p.scale[0];
  const float a = rng.uniform(low, high), b = rng.uniform(low, high);
  switch (rng.between(0, 6)) {
    case 0:
      return op(Op::Relu, {x});
    case 1:
      return op(Op::Clip, {x, scalar(0), scalar(std::fabs(a))});
    case 2:
      return op(Op::Clip, {x, scalar(std::min(a, b)), scalar(std::max(a, b))});  // 0 may lie outside
    case 3:
      return op(Op::Clip, {x, kNoTensor, scalar(a)});
    case 4:
      return op(Op::Clip, {x, scalar(b)});
    default:
      return x;
  }
}

void RuleGraph::finish(TensorId x, const QuantParams& p, bool clamp) {
  if (clamp) x = random_clamp(x, p);
  const TensorId q = quantize(x, p);
  output(rng.chance(2) ? q : dequantize(q));
}

namespace {

/// Random values; `step`: of the Quantize that reads them, or 0: a third of the values are then ties of it.
void fill(Rng& rng, const Tensor& t, float step, std::vector<uint8_t>& bytes) {
  const size_t count = size_t(element_count(t.shape));
  bytes.assign(count * dtype_size(t.dtype), 0);
  if (t.dtype == DType::Float32) {
    const ValueRange range = t.range.value_or(ValueRange{-4, 4});
    float* v = reinterpret_cast<float*>(bytes.data());
    for (size_t i = 0; i < count; ++i) {
      v[i] = rng.uniform(range.min, range.max);
      if (step > 0 && rng.chance(3)) v[i] = (std::round(v[i] / step) + 0.5f) * step;
    }
    if (t.range && count > 8) {  // goes through Quantize, which must take anything
      v[0] = HUGE_VALF, v[1] = -HUGE_VALF, v[2] = std::numeric_limits<float>::quiet_NaN(), v[3] = 1e-40f, v[4] = -0.0f;
    }
  } else if (t.dtype == DType::Int64) {
    for (size_t i = 0; i < count; ++i) reinterpret_cast<int64_t*>(bytes.data())[i] = rng.between(0, 1);
  } else {
    for (uint8_t& b : bytes) b = uint8_t(t.dtype == DType::Bool ? rng.between(0, 1) : rng.between(0, 255));
  }
}

/// Scale of the QuantizeLinear that reads a graph input; 0: none does.
float quantize_step(const Graph& graph, TensorId input) {
  for (const Node& node : graph.nodes) {
    if (node.op == Op::QuantizeLinear && node.inputs[0] == input) return graph.tensor(node.outputs[0]).quant->scale[0];
  }
  return 0;
}

/// Where two outputs first differ; "" if nowhere.
std::string difference(const Value& expected, const Session& session, size_t i) {
  const Tensor& t = session.output(i);
  if (t.shape != expected.shape || t.dtype != expected.dtype) {
    return "shape or type: " + shape_string(t.shape) + " " + dtype_name(t.dtype) + " for " +
           shape_string(expected.shape) + " " + dtype_name(expected.dtype);
  }
  const size_t size = dtype_size(t.dtype), count = size_t(element_count(t.shape));
  const uint8_t* actual = static_cast<const uint8_t*>(session.output_data(i));
  size_t wrong = 0, first = count;
  for (size_t k = 0; k < count; ++k) {
    if (std::memcmp(actual + k * size, expected.data.data() + k * size, size) == 0) continue;
    first = std::min(first, k);
    ++wrong;
  }
  if (wrong == 0) return "";
  const auto value = [&](const uint8_t* p) {
    if (t.dtype == DType::Int8) return double(reinterpret_cast<const int8_t*>(p)[first]);
    if (t.dtype == DType::Int16) return double(reinterpret_cast<const int16_t*>(p)[first]);
    if (t.dtype == DType::Float32) return double(reinterpret_cast<const float*>(p)[first]);
    return double(p[first * size]);
  };
  return std::to_string(wrong) + " of " + std::to_string(count) + " values of output " + std::to_string(i) + " " +
         shape_string(t.shape) + ", the first at " + std::to_string(first) + ": " + std::to_string(value(actual)) +
         " for " + std::to_string(value(expected.data.data()));
}

void expect_fused(const Graph& graph, const std::vector<Expect>& expect) {
  for (const Expect& e : expect) {
    bool found = false;
    for (const Node& node : graph.nodes) {
      found = found || (node.op == e.op && graph.tensor(node.inputs[0]).dtype != DType::Float32 &&
                        graph.tensor(node.outputs[0]).dtype == e.output);
    }
    EXPECT_TRUE(found) << "no " << op_name(e.op) << " on int8 or int16 in\n" << to_string(graph);
  }
}

/// Memory full of a pattern no kernel may depend on: as int8 −61, as float −3e15-ish, never zero.
void* poisoned_allocate(void*, size_t size, size_t alignment) {
  void* p = std::aligned_alloc(alignment, align_up(size + 1, alignment));
  if (p != nullptr) std::memset(p, 0xC3, size);
  return p;
}
const Allocator kPoisoned{poisoned_allocate, [](void*, void* p, size_t) { std::free(p); }, nullptr};

std::vector<Value> random_inputs(const Graph& graph, Rng& rng) {
  std::vector<Value> inputs;
  for (TensorId id : graph.inputs) {
    const Tensor& t = graph.tensor(id);
    std::vector<uint8_t> bytes;
    fill(rng, t, quantize_step(graph, id), bytes);
    inputs.push_back({t.dtype, t.shape, *Bytes::copy_of(bytes.data(), bytes.size())});
  }
  return inputs;
}

void run_on(Session& session, const std::vector<Value>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(session.input_data(i), inputs[i].data.data(), inputs[i].data.size());
  const Status ran = session.run();
  ASSERT_TRUE(ran.ok()) << ran.message();
}

/// Keeps a case for lq-conform: the model with the golden pair of the scalar plan, which check_model has just found
/// equal to the reference. Only if LQ_CONFORMANCE_DIR is set.
void keep_for_conformance(const std::shared_ptr<Model>& model, const ModelIr& ir, uint64_t seed) {
  const char* folder = std::getenv("LQ_CONFORMANCE_DIR");
  if (folder == nullptr) return;
  SessionOptions options;
  options.isa = Isa::kScalar;
  auto session = Session::create(model, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  auto golden = make_golden(**session, seed);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  ModelIr kept = ir;
  kept.golden = std::move(*golden);
  static int count = 0;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(count++) + ".lqm";
  std::replace(name.begin(), name.end(), '/', '_');
  const Status written = write_model_file(kept, std::string(folder) + "/" + name);
  ASSERT_TRUE(written.ok()) << written.message();
}

}  // namespace

void check_model(const ModelIr& ir, uint64_t seed, const std::vector<Expect>& expect) {
  auto model = Model::create(ir, kPoisoned);
  ASSERT_TRUE(model.ok()) << model.status().message();
  Rng rng(seed);
  const std::vector<Value> inputs = random_inputs(ir.main(), rng), others = random_inputs(ir.main(), rng);
  auto expected = interpret((*model)->ir(), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (int i = 0; i < kIsaCount; ++i) {
    const Isa isa = Isa(i);
    if (!is_isa_built(isa) || !is_isa_supported(isa)) continue;
    for (const int threads : {1, 2, 4}) {
      SessionOptions options;
      options.isa = isa;
      options.threads = threads;
      options.allocator = kPoisoned;
      auto session = Session::create(*model, options);
      ASSERT_TRUE(session.ok()) << session.status().message() << "\n" << to_string(ir.main());
      if (isa == Isa::kScalar && threads == 1) expect_fused((*session)->fused_graph(), expect);
      // What another run left in memory must not matter either.
      if (threads > 1) {
        ASSERT_NO_FATAL_FAILURE(run_on(**session, others));
      }
      ASSERT_NO_FATAL_FAILURE(run_on(**session, inputs));
      ASSERT_EQ((*session)->output_count(), expected->size());
      for (size_t i = 0; i < expected->size(); ++i) {
        const std::string wrong = difference((*expected)[i], **session, i);
        ASSERT_EQ(wrong, "") << isa_name(isa) << ", " << threads << " threads\n"
                             << to_string((*session)->fused_graph());
      }
    }
  }
  keep_for_conformance(*model, ir, seed);
}

void check(RuleGraph& g, const std::vector<Expect>& expect) {
  const Status status = infer_shapes(g.model, nullptr);
  ASSERT_TRUE(status.ok()) << status.message() << "\n" << to_string(g.graph());
  check_model(g.model, g.rng.next(), expect);
}

}  // namespace lq::reference
