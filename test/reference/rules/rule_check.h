// Small explicit Q/DQ graphs with random parameters, and the check that every plan computes what the reference computes.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "passes/runtime_graphs.h"
#include "reference/reference.h"

namespace lq::reference {

/// splitmix64: the same numbers with every standard library.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t next();
  int64_t between(int64_t low, int64_t high) { return low + int64_t(next() % uint64_t(high - low + 1)); }  // inclusive
  bool chance(int one_in) { return between(1, one_in) == 1; }
  float uniform(float low, float high) { return low + (high - low) * (float(next() >> 40) * 0x1p-24f); }
  template <typename T> T pick(std::initializer_list<T> values) { return *(values.begin() + between(0, int64_t(values.size()) - 1)); }

 private:
  uint64_t state_;
};

/// How many times the default number of random graphs: environment variable LQ_RANDOM_ROUNDS, 1 without it. For long searches.
int random_rounds();

/// A graph whose shapes come from inference. Activations get random int8 parameters.
class RuleGraph : public testing::GraphBuilder {
 public:
  explicit RuleGraph(uint64_t seed) : rng(seed) {}
  Rng rng;

  QuantParams params(float scale);  // int8, this scale, a random zero point (often an extreme one), rarely narrowed limits
  QuantParams params() { return params(rng.uniform(0.004f, 0.1f)); }
  /// int16, zero point 0, limits ±qmax; rarely the lowest value of all as well.
  QuantParams int16_params(float scale, int32_t qmax = 32767);
  /// The largest qmax that keeps the accumulators of products of `terms` int8 weights and a random_bias() in int32.
  static int32_t int16_limit(double terms) { return int32_t(std::min(32767.0, 1147483647 / (127 * std::max(1.0, terms)))); }
  /// A scale near `wanted`, half of the time an even multiple of `unit`: then accumulators in units of `unit` fall on ties
  /// of rint, where the last bit of every multiplier, product and sum decides.
  float scale_near(double wanted, double unit);
  /// Float input -> Quantize -> Dequantize.
  TensorId activation(const std::string& name, Shape shape, const QuantParams& p);
  TensorId activation(const std::string& name, Shape shape) { return activation(name, std::move(shape), params()); }
  /// A dequantized constant int8 or int16 tensor with per-tensor parameters.
  TensorId quantized_constant(const std::string& name, Shape shape, const QuantParams& p);
  /// Dequantized int8 weights, one scale an output channel (or one for all), and the scales.
  TensorId random_weights(Shape shape, int axis, int64_t channels, std::vector<float>* scales);
  /// Dequantized int32 bias in units of s_x · scales[c].
  TensorId random_bias(float s_x, const std::vector<float>& scales);
  template <typename AttrsT> TensorId op(Op op, std::vector<TensorId> inputs, const AttrsT& a) {
    const TensorId id = node(op, std::move(inputs), {});
    attrs<AttrsT>() = a;
    return id;
  }
  TensorId op(Op op, std::vector<TensorId> inputs) { return node(op, std::move(inputs), {}); }
  std::string unique(const char* prefix) { return std::string(prefix).append(std::to_string(graph().tensors.size())); }
  TensorId scalar(float v) { return floats(unique("scalar"), {}, {v}); }
  /// None, a Relu or a Clip (sometimes one that leaves zero out), about as wide as the range of `p`.
  TensorId random_clamp(TensorId x, const QuantParams& p);
  /// [clamp ->] Quantize [-> Dequantize] -> graph output.
  void finish(TensorId x, const QuantParams& p, bool clamp = true);
};

struct Expect {
  Op op;                        // must run on int8 or int16 …
  DType output = DType::Int8;   // … into this type
};

/// Runs the graph on random inputs through the reference and through sessions on every ISA at 1, 2 and 4 threads; all
/// outputs must have the same bits. `expect`: what the fused graph must contain, so that a test tests what it says.
void check(RuleGraph& g, const std::vector<Expect>& expect = {});
/// The same for a finished model; `session_inputs` are made from the seed.
void check_model(const ModelIr& model, uint64_t seed, const std::vector<Expect>& expect = {});

}  // namespace lq::reference
