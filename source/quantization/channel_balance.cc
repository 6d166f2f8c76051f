#include "quantization/channel_balance.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "quantization/channel_classes.h"

namespace lq::quantization {
namespace {

constexpr int kLowestExponent = -12;
constexpr double kWorthwhile = 0.9;  // of the expected error without factors
constexpr double kStrengths[] = {0.25, 0.5, 0.75, 1};

/// Of one tensor's channels.
struct ChannelStats {
  std::vector<float> largest;  // |x|
  std::vector<double> power;   // mean x²
};

class Balancer {
 public:
  Balancer(const ModelIr& model, const ParamGroups& groups)
      : model_(model),
        graph_(model.main()),
        groups_(groups),
        convolutions_(find_convolutions(graph_)),
        classes_(find_channel_classes(graph_, convolutions_)) {
    for (size_t i = 0; i < classes_.size(); ++i) {
      for (TensorId id : classes_[i].members) class_of_[id] = i;
    }
    weight_.resize(classes_.size());
    visited_.assign(classes_.size(), false);
  }

  Result<std::vector<ChannelFactors>> run(const calibration::DataSource& source, const MeasureOptions& options) {
    std::vector<ChannelFactors> factors;
    LQ_RETURN_IF_ERROR(measure(source, options));
    for (size_t i = 0; i < classes_.size(); ++i) {
      std::vector<int> exponents = best_exponents(i);
      if (exponents.empty()) continue;
      factors.push_back({graph_.tensor(classes_[i].members[0]).name, std::move(exponents)});
    }
    return factors;
  }

 private:
  Status measure(const calibration::DataSource& source, const MeasureOptions& options) {
    std::vector<TensorId> taps;
    std::vector<std::string> names;
    for (const ChannelClass& c : classes_) {
      for (TensorId id : c.members) {
        if (groups_.of(id) >= 0) taps.push_back(id), names.push_back(graph_.tensor(id).name);
      }
    }
    if (taps.empty()) return {};
    std::vector<size_t> places;
    LQ_ASSIGN_OR_RETURN(ModelIr part, only_outputs(model_, names, places));
    std::vector<std::vector<ChannelStats>> of_sample(source.size());
    LQ_RETURN_IF_ERROR(run_samples(
        std::move(part), source, options,
        [&](size_t done, size_t total) {
          if (options.progress) options.progress("measuring channels", done, total);
        },
        [&](size_t sample, int, const Session& session) {
          for (size_t place : places) of_sample[sample].push_back(stats_of(session, place));
        }));
    for (size_t t = 0; t < taps.size(); ++t) stats_[taps[t]] = joined(of_sample, t);
    return {};
  }

  static ChannelStats stats_of(const Session& session, size_t place) {
    size_t count = 0;
    const float* values = float_output(session, place, count);
    const Shape& shape = session.output(place).shape;
    const size_t channels = size_t(shape[1]), outer = size_t(shape[0]);
    const size_t inner = count / std::max<size_t>(channels * outer, 1);
    ChannelStats stats{std::vector<float>(channels, 0.0f), std::vector<double>(channels, 0.0)};
    for (size_t row = 0; row < outer * channels; ++row) {
      const size_t c = row % channels;
      for (size_t i = row * inner; i < (row + 1) * inner; ++i) {
        stats.largest[c] = std::max(stats.largest[c], std::abs(values[i]));
        stats.power[c] += double(values[i]) * double(values[i]);
      }
    }
    for (double& p : stats.power) p /= double(std::max<size_t>(outer * inner, 1));
    return stats;
  }

  static ChannelStats joined(const std::vector<std::vector<ChannelStats>>& of_sample, size_t tap) {
    ChannelStats all;
    size_t used = 0;
    for (const auto& sample : of_sample) {
      if (sample.empty()) continue;  // skipped
      ++used;
      all.largest.resize(sample[tap].largest.size()), all.power.resize(sample[tap].power.size());
      for (size_t c = 0; c < all.largest.size(); ++c) {
        all.largest[c] = std::max(all.largest[c], sample[tap].largest[c]);
        all.power[c] += sample[tap].power[c];
      }
    }
    for (double& p : all.power) p /= double(std::max<size_t>(used, 1));
    return all;
  }

  const ChannelStats* read_by(size_t convolution) const {
    const auto found = stats_.find(graph_.nodes[size_t(convolutions_[convolution].node)].inputs[0]);
    return found == stats_.end() ? nullptr : &found->second;
  }

  /// Σ of squared weights that read channel c.
  std::vector<double> energy(size_t convolution) const {
    const ConvWeights& w = convolutions_[convolution];
    std::vector<double> sums(w.inputs(), 0.0);
    for (size_t i = 0; i < w.weight.size(); ++i) {
      const size_t c = w.depthwise ? i / w.taps : i / w.taps % w.in_group;
      sums[c] += double(w.weight[i]) * double(w.weight[i]);
    }
    return sums;
  }
  double result_power(size_t convolution, const std::vector<double>& squares) const {
    const ChannelStats* x = read_by(convolution);
    double power = 0;
    for (size_t c = 0; x != nullptr && c < squares.size(); ++c) power += squares[c] * x->power[c];
    return power;
  }

  /// How much an error in channel c counts, relative to the results of the products that read it. A depthwise layer
  /// only passes it on to what reads its own result.
  const std::vector<double>& channel_weight(size_t index) {
    std::vector<double>& sum = weight_[index];
    if (visited_[index]) return sum;
    visited_[index] = true;
    std::vector<double> total(classes_[index].channels, 0.0);
    for (size_t k : classes_[index].consumers) {
      const std::vector<double> squares = energy(k);
      const double power = result_power(k, squares);
      if (power <= 0) continue;
      const auto next = class_of_.find(graph_.nodes[size_t(convolutions_[k].node)].outputs[0]);
      const bool passes = convolutions_[k].depthwise && next != class_of_.end();
      const std::vector<double> behind = passes ? channel_weight(next->second) : std::vector<double>();
      for (size_t c = 0; c < total.size(); ++c)
        total[c] += behind.size() == total.size() ? squares[c] * behind[c] : squares[c] / power;
    }
    return weight_[index] = std::move(total);
  }

  /// Error of everything that reads the class, in units of 1/12 of a step squared.
  double expected_error(size_t index, const std::vector<int>& exponents) {
    const std::vector<double>& weight = channel_weight(index);
    std::map<int, double> largest;  // by group of parameters
    for (TensorId id : classes_[index].members) {
      const auto found = stats_.find(id);
      if (found == stats_.end()) continue;
      double& most = largest[groups_.of(id)];
      for (size_t c = 0; c < exponents.size(); ++c)
        most = std::max(most, std::ldexp(double(found->second.largest[c]), -exponents[c]));
    }
    double noise = 0, error = 0;
    for (size_t c = 0; c < exponents.size(); ++c) noise += std::ldexp(weight[c], 2 * exponents[c]);
    for (const auto& [group, most] : largest) error += most * most / (127 * 127) * noise;
    for (size_t k : classes_[index].consumers) error += weight_error(k, exponents);
    return error;
  }

  /// Rounding of the weights behind: one scale an output channel, so a depthwise layer's does not change.
  double weight_error(size_t k, const std::vector<int>& exponents) const {
    const ConvWeights& w = convolutions_[k];
    const ChannelStats* x = read_by(k);
    const double power = result_power(k, energy(k));
    if (w.depthwise || x == nullptr || power <= 0) return 0;
    double steps = 0, read = 0;
    for (size_t m = 0; m < w.channels; ++m) {
      double most = 0;
      for (size_t i = 0; i < w.in_group * w.taps; ++i)
        most =
            std::max(most, std::ldexp(std::abs(double(w.weight[m * w.in_group * w.taps + i])), exponents[i / w.taps]));
      steps += most * most / (127 * 127);
    }
    for (size_t c = 0; c < exponents.size(); ++c) read += std::ldexp(x->power[c], -2 * exponents[c]);
    return steps * read * double(w.taps) / power;
  }

  /// Empty: not worth it.
  std::vector<int> best_exponents(size_t index) {
    const size_t channels = classes_[index].channels;
    std::vector<double> relative(channels, 0.0);  // size beside the tensor's largest channel
    for (TensorId id : classes_[index].members) {
      const auto found = stats_.find(id);
      if (found == stats_.end()) continue;
      if (found->second.largest.size() != channels) return {};
      const double most = *std::max_element(found->second.largest.begin(), found->second.largest.end());
      for (size_t c = 0; c < channels && most > 0; ++c)
        relative[c] = std::max(relative[c], double(found->second.largest[c]) / most);
    }
    const std::vector<int> none(channels, 0);
    double least = kWorthwhile * expected_error(index, none);
    std::vector<int> best;
    for (double strength : kStrengths) {
      const std::vector<int> exponents = exponents_of(relative, strength);
      const double error = expected_error(index, exponents);
      if (error < least) least = error, best = exponents;
    }
    return best == none ? std::vector<int>() : best;
  }

  /// A channel that is always zero takes the lowest exponent of the others: its weights shall not widen a scale.
  static std::vector<int> exponents_of(const std::vector<double>& relative, double strength) {
    std::vector<int> exponents(relative.size(), 0);
    int lowest = 0;
    for (size_t c = 0; c < relative.size(); ++c) {
      if (relative[c] <= 0) continue;
      exponents[c] = std::clamp(int(std::nearbyint(strength * std::log2(relative[c]))), kLowestExponent, 0);
      lowest = std::min(lowest, exponents[c]);
    }
    for (size_t c = 0; c < relative.size(); ++c) {
      if (relative[c] <= 0) exponents[c] = lowest;
    }
    return exponents;
  }

  const ModelIr& model_;
  const Graph& graph_;
  const ParamGroups& groups_;
  const std::vector<ConvWeights> convolutions_;
  const std::vector<ChannelClass> classes_;
  std::map<TensorId, size_t> class_of_;
  std::map<TensorId, ChannelStats> stats_;
  std::vector<std::vector<double>> weight_;  // by class, see channel_weight
  std::vector<bool> visited_;
};

}  // namespace

Result<std::vector<ChannelFactors>> choose_channel_factors(const ModelIr& model, const ParamGroups& groups,
                                                           const calibration::DataSource& source,
                                                           const MeasureOptions& options) {
  return Balancer(model, groups).run(source, options);
}

Status apply_channel_factors(Graph& graph, const std::vector<ChannelFactors>& factors) {
  std::vector<ConvWeights> convolutions = find_convolutions(graph);
  const std::vector<ChannelClass> classes = find_channel_classes(graph, convolutions);
  for (const ChannelFactors& f : factors) {
    const auto found = std::find_if(classes.begin(), classes.end(), [&](const ChannelClass& c) {
      return std::any_of(c.members.begin(), c.members.end(),
                         [&](TensorId id) { return graph.tensor(id).name == f.tensor; });
    });
    if (found == classes.end()) return invalid_argument("channels of '" + f.tensor + "' cannot be scaled");
    if (found->channels != f.exponents.size())
      return invalid_argument("'" + f.tensor + "' has " + std::to_string(found->channels) + " channels, not " +
                              std::to_string(f.exponents.size()));
    for (size_t k : found->producers) {
      ConvWeights& w = convolutions[k];
      w.changed = true;
      for (size_t c = 0; c < w.channels; ++c) {
        const auto scale = [&](float& v) { v = std::ldexp(v, -f.exponents[c]); };
        w.each_of_output(c, scale);
        if (!w.bias.empty()) scale(w.bias[c]);
      }
    }
    for (size_t k : found->consumers) {
      ConvWeights& w = convolutions[k];
      w.changed = true;
      for (size_t c = 0; c < w.inputs(); ++c) w.each_of_input(c, [&](float& v) { v = std::ldexp(v, f.exponents[c]); });
    }
  }
  write_weights(graph, convolutions);
  return {};
}

}  // namespace lq::quantization
