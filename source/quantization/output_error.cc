#include "quantization/output_error.h"

#include <algorithm>

#include "numerics/quantize.h"
#include "quantization/precision.h"

namespace lq::quantization {
namespace {

constexpr size_t kFewestColumns = 512;
constexpr size_t kColumns = 2048;  // of a product, evenly spaced: rare large values must show

/// Weights as [column, output channel of the group], group after group: the inner loop runs over channels.
struct Matrix {
  size_t channels = 0;  // of one group
  std::vector<float> values;
};

Matrix matrix_of(const Graph& graph, const Node& node, const ProductColumns& columns) {
  const std::vector<float> w = *constant_floats(graph, node.inputs[1]);
  const size_t all = w.size() / columns.size, size = columns.size;
  const bool by_rows = node.op == Op::Conv || (node.op == Op::Gemm && attrs_as<schema::GemmAttrsT>(node).trans_b);
  Matrix m{all / columns.groups, {}};
  if (!by_rows) {
    m.values = w;  // [K, M] already
    return m;
  }
  m.values.resize(w.size());
  for (size_t c = 0; c < all; ++c) {
    const size_t g = c / m.channels, in_group = c % m.channels;
    for (size_t k = 0; k < size; ++k) m.values[(g * size + k) * m.channels + in_group] = w[c * size + k];
  }
  return m;
}

}  // namespace

double OutputError::relative_error(int node, const ProductColumns& columns, const QuantParams& params) const {
  const Matrix m = matrix_of(graph_, graph_.nodes[size_t(node)], columns);
  const std::vector<const float*> rows = columns.rows();
  const float scale = scale_at(params, 0);
  const int32_t zero = zero_point_at(params, 0);
  std::vector<float> value(m.channels), error(m.channels);
  double signal = 0, noise = 0;
  const size_t picked = std::min(rows.size(), kColumns);
  for (size_t i = 0; i < picked; ++i) {
    const float* row = rows[i * rows.size() / picked];
    for (size_t g = 0; g < columns.groups; ++g) {
      std::fill(value.begin(), value.end(), 0.0f);
      std::fill(error.begin(), error.end(), 0.0f);
      for (size_t k = g * columns.size; k < (g + 1) * columns.size; ++k) {
        const float x = row[k];
        if (x == 0) continue;  // zero is exact
        const float d = float(quantize(x, scale, zero, params.qmin, params.qmax) - zero) * scale - x;
        const float* w = m.values.data() + k * m.channels;
        for (size_t c = 0; c < m.channels; ++c) value[c] += x * w[c], error[c] += d * w[c];
      }
      for (size_t c = 0; c < m.channels; ++c)
        signal += double(value[c]) * double(value[c]), noise += double(error[c]) * double(error[c]);
    }
  }
  return signal > 0 ? noise / signal : 0;
}

std::optional<double> OutputError::of(const ParamGroup& group, const QuantParams& params) const {
  std::optional<double> sum;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    const bool computes = plan_[n].precision == Precision::kInt8 && rule_of(node) != QuantRule::kPassThrough;
    if (!computes || plan_[n].fused_into >= 0) continue;
    const std::vector<size_t> data = data_inputs(graph_, node);
    const bool reads = std::any_of(data.begin(), data.end(), [&](size_t i) {
      return std::find(group.members.begin(), group.members.end(), node.inputs[i]) != group.members.end();
    });
    if (!reads) continue;
    const auto found = columns_.find(int(n));
    if (found == columns_.end() || found->second.rows().size() < kFewestColumns) return std::nullopt;
    sum = sum.value_or(0) + relative_error(int(n), found->second, params);
  }
  return sum;
}

}  // namespace lq::quantization
