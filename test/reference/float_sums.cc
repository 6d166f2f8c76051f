// Float operators that add up: MatMul, Softmax, norms, reductions, in the canonical order of docs/NUMERICS.md, "Float".
#include <cmath>

#include "numerics/elementary.h"
#include "reference/values.h"

namespace lq::reference {
namespace {

int64_t product_of(const Shape& s, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t a = begin; a < end; ++a) n *= s[a];
  return n;
}

Result<bool> matmul(Execution& e, const Node& node) {
  const Tensor ta = e.tensor(node.inputs[0]), tb = e.tensor(node.inputs[1]);
  if (ta.shape.size() < 2 || tb.shape.size() < 2) return false;
  const Shape batch_a(ta.shape.begin(), ta.shape.end() - 2), batch_b(tb.shape.begin(), tb.shape.end() - 2);
  LQ_ASSIGN_OR_RETURN(const Shape batch, broadcast(batch_a, batch_b));
  const int64_t m = ta.shape[ta.shape.size() - 2], k = ta.shape.back(), n = tb.shape.back();
  Shape out = batch;
  out.push_back(m);
  out.push_back(n);
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t f = 0; f < element_count(batch); ++f) {
    const float* a = ta.data.as<float>() + broadcast_index(f, batch, batch_a) * m * k;
    const float* b = tb.data.as<float>() + broadcast_index(f, batch, batch_b) * k * n;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float acc = 0;
        for (int64_t l = 0; l < k; ++l) acc = std::fmaf(a[i * k + l], b[l * n + j], acc);
        *y++ = acc + 0.0f;
      }
  }
  return true;
}

Result<bool> softmax(Execution& e, const Node& node) {
  const Tensor x = e.tensor(node.inputs[0]);
  const int given = attrs_as<schema::AxisAttrsT>(node).axis;
  const size_t axis = size_t(given < 0 ? given + int(x.shape.size()) : given);
  const int64_t outer = product_of(x.shape, 0, axis), n = x.shape[axis], inner = product_of(x.shape, axis + 1, x.shape.size());
  const float* px = x.data.as<float>();
  float* y = e.make<float>(node.outputs[0], DType::Float32, x.shape);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = [&](int64_t k) { return (o * n + k) * inner + i; };
      float max = -HUGE_VALF;
      for (int64_t k = 0; k < n; ++k) max = std::max(max, px[at(k)]);
      std::vector<float> exps;
      for (int64_t k = 0; k < n; ++k) exps.push_back(float(elementary::exp(double(px[at(k)] - max))));
      const float sum = interleaved_sum(exps);
      for (int64_t k = 0; k < n; ++k) y[at(k)] = exps[size_t(k)] / sum;
    }
  return true;
}

/// y = (x − mean) / sqrt(var + ε) · scale + bias over one row; scale and bias by element.
template <typename Scale, typename Bias>
void normalize(const float* x, float* y, int64_t n, float mean, float variance, float epsilon, Scale scale, Bias bias) {
  const float deviation = std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < n; ++i) y[i] = bias((x[i] - mean) / deviation * scale(i), i);
}

std::pair<float, float> moments(const float* x, int64_t n) {
  const float mean = interleaved_sum(std::vector<float>(x, x + n)) / float(n);
  std::vector<float> squares;
  for (int64_t i = 0; i < n; ++i) squares.push_back((x[i] - mean) * (x[i] - mean));
  return {mean, interleaved_sum(squares) / float(n)};
}

Result<bool> norm(Execution& e, const Node& node) {
  const Tensor x = e.tensor(node.inputs[0]);
  const auto& attrs = attrs_as<schema::NormAttrsT>(node);
  const float *px = x.data.as<float>(), *scale = e.data<float>(node.inputs[1]);
  const float* bias = node.input(2) == kNoTensor ? nullptr : e.data<float>(node.inputs[2]);
  if (node.op == Op::LayerNormalization) {
    const size_t axis = size_t(attrs.axis < 0 ? attrs.axis + int(x.shape.size()) : attrs.axis);
    const Shape row(x.shape.begin() + int64_t(axis), x.shape.end());
    const Shape scale_shape = e.tensor(node.inputs[1]).shape, bias_shape = bias ? e.tensor(node.inputs[2]).shape : Shape{};
    const int64_t n = element_count(row);
    float* y = e.make<float>(node.outputs[0], DType::Float32, x.shape);
    for (int64_t r = 0; r < product_of(x.shape, 0, axis); ++r) {
      const auto [mean, variance] = moments(px + r * n, n);
      normalize(px + r * n, y + r * n, n, mean, variance, attrs.epsilon, [&](int64_t i) { return scale[broadcast_index(i, row, scale_shape)]; },
                [&](float v, int64_t i) { return bias ? v + bias[broadcast_index(i, row, bias_shape)] : v; });
    }
    return true;
  }
  if (x.shape.size() < 2) return false;
  const int64_t channels = x.shape[1], n = product_of(x.shape, 2, x.shape.size());
  const bool batch = node.op == Op::BatchNormalization;
  const float *means = batch ? e.data<float>(node.inputs[3]) : nullptr, *variances = batch ? e.data<float>(node.inputs[4]) : nullptr;
  float* y = e.make<float>(node.outputs[0], DType::Float32, x.shape);
  for (int64_t r = 0; r < x.shape[0] * channels; ++r) {
    const int64_t c = r % channels;
    const auto [mean, variance] = batch ? std::make_pair(means[c], variances[c]) : moments(px + r * n, n);
    normalize(px + r * n, y + r * n, n, mean, variance, attrs.epsilon, [&](int64_t) { return scale[c]; }, [&](float v, int64_t) { return v + bias[c]; });
  }
  return true;
}

Result<bool> reduce(Execution& e, const Node& node) {
  const Tensor x = e.tensor(node.inputs[0]);
  const auto& attrs = attrs_as<schema::ReduceAttrsT>(node);
  const auto axes = node.input(1) == kNoTensor ? std::vector<int64_t>() : constant_ints(e.graph, node.inputs[1]).value_or(std::vector<int64_t>());
  if (axes.empty() && attrs.noop_with_empty_axes) return false;
  std::vector<bool> reduced(x.shape.size(), axes.empty());
  for (int64_t a : axes) reduced[size_t(a < 0 ? a + int64_t(x.shape.size()) : a)] = true;
  Shape kept = x.shape, out;
  for (size_t a = 0; a < kept.size(); ++a) {
    if (reduced[a]) kept[a] = 1;
    if (!reduced[a] || attrs.keepdims) out.push_back(kept[a]);
  }
  std::vector<std::vector<float>> groups(size_t(element_count(kept)));
  for (int64_t i = 0; i < element_count(x.shape); ++i) {
    const float v = x.data.as<float>()[i];
    groups[size_t(broadcast_index(i, x.shape, kept))].push_back(node.op == Op::ReduceL2 ? v * v : v);
  }
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (size_t g = 0; g < groups.size(); ++g) {
    const float sum = interleaved_sum(groups[g]);
    y[g] = node.op == Op::ReduceMean ? sum / float(groups[g].size()) : node.op == Op::ReduceL2 ? std::sqrt(sum) : sum;
  }
  return true;
}

}  // namespace

Result<bool> apply_float_sum(Execution& e, const Node& node) {
  switch (node.op) {
    case Op::MatMul: return matmul(e, node);
    case Op::Softmax: return softmax(e, node);
    case Op::BatchNormalization: case Op::InstanceNormalization: case Op::LayerNormalization: return norm(e, node);
    case Op::ReduceMean: case Op::ReduceSum: case Op::ReduceL2: return reduce(e, node);
    default: return false;
  }
}

}  // namespace lq::reference
