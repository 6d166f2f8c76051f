#include "quantization/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "quantization/float_outputs.h"
#include "quantization/staged_run.h"

namespace lq::quantization {
namespace {

constexpr size_t kKeptBytes = size_t(1) << 26;  // of values between two products
constexpr double kInt32Max = 2147483647.0;

/// Of one output of a product, by channel.
struct ChannelMeans {
  std::vector<double> value;  // cut off as the activation behind it does
  std::vector<double> share;  // of the values that it leaves as they are
};
/// By sample; one that did not run is empty.
using SampleMeans = std::vector<ChannelMeans>;

ChannelMeans channel_means(const float* values, const Shape& shape, const CorrectedProduct& product) {
  const size_t axis = shape.size() - product.channel_from_right, channels = size_t(shape[axis]);
  size_t inner = 1, outer = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= size_t(shape[i]);
  for (size_t i = 0; i < axis; ++i) outer *= size_t(shape[i]);
  ChannelMeans means{std::vector<double>(channels, 0.0), std::vector<double>(channels, 0.0)};
  const auto [low, high] = product.passed;
  for (size_t o = 0; o < outer; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      const float* row = values + (o * channels + c) * inner;
      double sum = 0;
      size_t passed = 0;
      for (size_t i = 0; i < inner; ++i) {
        sum += double(std::clamp(row[i], low, high));
        passed += row[i] > low && row[i] < high;
      }
      means.value[c] += sum, means.share[c] += double(passed);
    }
  }
  const double count = double(std::max<size_t>(outer * inner, 1));
  for (size_t c = 0; c < channels; ++c) means.value[c] /= count, means.share[c] /= count;
  return means;
}

/// Mean difference of a channel, shrunk towards 0 by how uncertain it is (a positive-part James–Stein factor).
double reliable_mean(const std::vector<double>& differences) {
  const double n = double(differences.size());
  if (n < 2) return 0;
  double sum = 0, squares = 0;
  for (double d : differences) sum += d;
  const double mean = sum / n;
  for (double d : differences) squares += (d - mean) * (d - mean);
  const double variance_of_mean = squares / (n - 1) / n;
  return mean == 0 ? 0 : mean * std::max(0.0, 1 - variance_of_mean / (mean * mean));
}

class Corrector {
 public:
  Corrector(const ModelIr& float_model, ModelIr& int8_model, const std::vector<CorrectedProduct>& products,
            const calibration::DataSource& source, const MeasureOptions& options)
      : float_model_(float_model),
        int8_model_(int8_model),
        products_(products),
        source_(source),
        options_(options),
        producers_(producers_of(int8_model.main())),
        float_outputs_(source.size()) {
    const Graph& graph = int8_model.main();
    for (size_t id = 0; id < graph.tensors.size(); ++id) by_name_[graph.tensors[id].name] = TensorId(id);
  }

  Result<BiasCorrectionReport> run() {
    BiasCorrectionReport report;
    LQ_RETURN_IF_ERROR(measure_float(report.samples));
    LQ_ASSIGN_OR_RETURN(report.before_db, float_outputs_.sqnr_db(int8_model_, source_, options_));
    const ModelIr before = int8_model_;  // shares the constants
    LQ_RETURN_IF_ERROR(correct(report.products));
    LQ_ASSIGN_OR_RETURN(report.after_db, float_outputs_.sqnr_db(int8_model_, source_, options_));
    report.kept = !report.before_db || !report.after_db || *report.after_db >= *report.before_db + kLeastGainDb;
    if (!report.kept) int8_model_ = before, report.products = 0;
    return report;
  }

 private:
  Status correct(size_t& corrected) {
    std::map<int, size_t> product_of_node;  // in execution order
    for (size_t p = 0; p < products_.size(); ++p) {
      const int n = corrected_node(products_[p]);
      if (n >= 0) product_of_node[n] = p;
    }
    std::vector<int> stops;
    for (const auto& [n, p] : product_of_node) stops.push_back(n);
    StagedRun run(int8_model_, stops, options_, kKeptBytes);
    LQ_RETURN_IF_ERROR(run.load(source_, used_));
    size_t done = 0;
    for (const auto& [n, p] : product_of_node) {
      SampleMeans means(source_.size());
      const CorrectedProduct& product = products_[p];
      LQ_RETURN_IF_ERROR(run.advance(
          [&](size_t sample, const Session& session) { means[sample] = output_means(session, 0, product); }));
      LQ_ASSIGN_OR_RETURN(const bool changed, apply(int8_model_.main().nodes[size_t(n)], errors(p, means)));
      corrected += changed ? 1 : 0;
      if (options_.progress) options_.progress("correcting biases", ++done, product_of_node.size());
    }
    return {};
  }

  static ChannelMeans output_means(const Session& session, size_t place, const CorrectedProduct& product) {
    size_t count = 0;
    const float* values = float_output(session, place, count);
    const Shape& shape = session.output(place).shape;
    return count == 0 ? ChannelMeans() : channel_means(values, shape, product);
  }

  /// Means of every product, and the model's outputs.
  Status measure_float(size_t& used) {
    std::vector<std::string> names;
    for (const CorrectedProduct& product : products_) names.push_back(product.output);
    for (TensorId t : float_model_.main().outputs) names.push_back(float_model_.main().tensor(t).name);
    std::vector<size_t> places;
    LQ_ASSIGN_OR_RETURN(ModelIr part, only_outputs(float_model_, names, places));
    float_means_.assign(products_.size(), SampleMeans(source_.size()));
    used_.assign(source_.size(), 0);
    const std::vector<size_t> outputs(places.begin() + ptrdiff_t(products_.size()), places.end());
    return run_samples(
        std::move(part), source_, options_,
        [&](size_t done, size_t total) {
          if (options_.progress) options_.progress("measuring products", done, total);
        },
        [&](size_t sample, int, const Session& session) {
          for (size_t p = 0; p < products_.size(); ++p)
            float_means_[p][sample] = output_means(session, places[p], products_[p]);
          float_outputs_.keep(sample, session, outputs);
          used_[sample] = 1;
        },
        &used);
  }

  /// The product's node in the quantized graph, if it has an int32 bias; otherwise −1.
  int corrected_node(const CorrectedProduct& product) const {
    const auto found = by_name_.find(product.output);
    if (found == by_name_.end()) return -1;  // nobody used its result
    const int n = producers_[size_t(found->second)];
    return n < 0 || bias_constant(int8_model_.main().nodes[size_t(n)]) == kNoTensor ? -1 : n;
  }

  /// The int32 constant behind the bias's DequantizeLinear.
  TensorId bias_constant(const Node& node) const {
    const TensorId dequantized = node.input(2);
    const int n = dequantized == kNoTensor ? -1 : producers_[size_t(dequantized)];
    if (n < 0 || int8_model_.main().nodes[size_t(n)].op != Op::DequantizeLinear) return kNoTensor;
    const TensorId id = int8_model_.main().nodes[size_t(n)].inputs[0];
    const Tensor& tensor = int8_model_.main().tensor(id);
    return tensor.is_constant() && tensor.dtype == DType::Int32 ? id : kNoTensor;
  }

  /// What each channel's bias is to lose.
  std::vector<double> errors(size_t p, const SampleMeans& means) const {
    size_t channels = 0;
    for (const ChannelMeans& m : means) channels = std::max(channels, m.value.size());
    std::vector<double> result(channels, 0.0);
    for (size_t c = 0; c < channels; ++c) {
      std::vector<double> differences;
      double share = 0;
      for (size_t s = 0; s < means.size(); ++s) {
        const std::vector<double>& wanted = float_means_[p][s].value;
        if (c >= means[s].value.size() || c >= wanted.size()) continue;
        differences.push_back(means[s].value[c] - wanted[c]);
        share += means[s].share[c];
      }
      if (differences.empty()) continue;
      result[c] = reliable_mean(differences) / std::max(share / double(differences.size()), kLeastShare);
    }
    return result;
  }

  /// max|q_x − zp|·Σ|q_w| of each channel: what the accumulator may hold beside the bias.
  std::vector<double> peaks(const Node& node, size_t channels) const {
    const Graph& graph = int8_model_.main();
    const auto quantized = [&](TensorId id) -> const Tensor& {
      return graph.tensor(graph.nodes[size_t(producers_[size_t(id)])].inputs[0]);
    };
    const QuantParams& x = *quantized(node.inputs[0]).quant;
    const double peak = double(std::max(x.qmax - zero_point_at(x, 0), zero_point_at(x, 0) - x.qmin));
    const Tensor& w = quantized(node.inputs[1]);
    // The channel of an element is a matter of the operator; the largest sum of all is a safe bound for each.
    std::vector<double> sums(channels, 0.0);
    const auto axis = size_t(w.quant->axis);
    size_t inner = 1;
    for (size_t i = axis + 1; i < w.shape.size(); ++i) inner *= size_t(w.shape[i]);
    const size_t along = size_t(w.shape[axis]);
    double largest = 0;
    std::vector<double> by_index(along, 0.0);
    for (size_t i = 0; i < w.data.size(); ++i) by_index[i / inner % along] += std::abs(double(w.data.as<int8_t>()[i]));
    for (double s : by_index) largest = std::max(largest, s);
    for (size_t c = 0; c < channels; ++c) sums[c] = peak * (along == channels ? by_index[c] : largest);
    return sums;
  }

  /// Subtracts the errors, in steps of the bias's scale. True if something changed.
  Result<bool> apply(const Node& node, const std::vector<double>& error) {
    Graph& graph = int8_model_.main();
    Tensor& tensor = graph.tensor(bias_constant(node));
    const size_t channels = tensor.data.size() / sizeof(int32_t);
    if (error.size() != channels) return false;  // a shape the samples did not show
    std::vector<int32_t> bias(tensor.data.as<int32_t>(), tensor.data.as<int32_t>() + channels);
    const std::vector<double> peak = peaks(node, channels);
    bool changed = false;
    for (size_t c = 0; c < channels; ++c) {
      const double value = std::nearbyint(double(bias[c]) - error[c] / double(scale_at(*tensor.quant, c)));
      if (!(std::abs(value) + peak[c] <= kInt32Max) || int32_t(value) == bias[c]) continue;
      bias[c] = int32_t(value);
      changed = true;
    }
    if (changed) {
      LQ_ASSIGN_OR_RETURN(tensor.data, Bytes::copy_of(bias.data(), channels * sizeof(int32_t)));
    }
    return changed;
  }

  const ModelIr& float_model_;
  ModelIr& int8_model_;
  const std::vector<CorrectedProduct>& products_;
  const calibration::DataSource& source_;
  const MeasureOptions& options_;
  const std::vector<int> producers_;  // of the int8 graph; correcting changes no structure
  std::map<std::string, TensorId> by_name_;
  std::vector<SampleMeans> float_means_;  // by product
  std::vector<uint8_t> used_;             // by sample: ran. No vector<bool>: threads write their own
  FloatOutputs float_outputs_;
};

}  // namespace

std::vector<CorrectedProduct> products_to_correct(const std::vector<NodeNotes>& notes) {
  std::vector<CorrectedProduct> products;
  for (const NodeNotes& n : notes) {
    if (!n.product_output.empty()) products.push_back({n.product_output, n.channel_from_right, n.passed});
  }
  return products;
}

Result<BiasCorrectionReport> correct_biases(const ModelIr& float_model, ModelIr& int8_model,
                                            const std::vector<CorrectedProduct>& products,
                                            const calibration::DataSource& source, const MeasureOptions& options) {
  if (products.empty()) return BiasCorrectionReport();
  return Corrector(float_model, int8_model, products, source, options).run();
}

}  // namespace lq::quantization
