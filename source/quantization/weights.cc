#include "quantization/weights.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "numerics/quantize.h"

namespace lq::quantization {
namespace {

constexpr int32_t kLevels = 127;

/// max|w|/127, kept normal: a channel of 1e-40 would otherwise have a subnormal scale, which no file may hold.
float scale_for(float largest) {
  if (largest == 0) return 1;
  return std::max(largest / float(kLevels), FLT_MIN);
}

double rounded(float w, double scale) {
  return std::clamp(std::nearbyint(double(w) / scale), -double(kLevels), double(kLevels));
}

float scale_of_least_error(const std::vector<float>& w, float start) {
  constexpr int kCandidates = 64;
  double least = INFINITY;
  float best = start;
  for (int k = 0; k <= kCandidates; ++k) {  // from the top: ties keep the larger scale, which clips less
    const float scale = start * (1 - 0.5f * float(k) / kCandidates);
    double error = 0;
    for (float v : w) {
      const double d = double(v) - rounded(v, double(scale)) * double(scale);
      error += d * d;
    }
    if (error < least) least = error, best = scale;
  }
  return best;
}

float scale_by_turns(const std::vector<float>& w, float start) {
  constexpr int kTurns = 50;
  double scale = double(start);
  for (int turn = 0; turn < kTurns; ++turn) {
    double products = 0, squares = 0;
    for (float v : w) {
      const double q = rounded(v, scale);
      products += double(v) * q, squares += q * q;
    }
    if (squares == 0 || products / squares == scale) break;
    scale = products / squares;
  }
  return float(scale);
}

/// Better scales than max|w|/127, for each set of weights that share one.
void improve(const std::vector<float>& weights, const std::vector<int32_t>& channel, WeightGranularity granularity,
             WeightScale how, std::vector<float>& scales) {
  const bool shared = granularity == WeightGranularity::kPerTensor;
  std::vector<std::vector<float>> of_scale(shared ? 1 : scales.size());
  for (size_t i = 0; i < weights.size(); ++i) of_scale[shared ? 0 : size_t(channel[i])].push_back(weights[i]);
  for (size_t c = 0; c < scales.size(); ++c) {
    if (shared && c > 0) {
      scales[c] = scales[0];
      continue;
    }
    const std::vector<float>& w = of_scale[c];
    if (std::all_of(w.begin(), w.end(), [](float v) { return v == 0; })) continue;
    const float scale = how == WeightScale::kMse ? scale_of_least_error(w, scales[c]) : scale_by_turns(w, scales[c]);
    scales[c] = std::max(scale, FLT_MIN);
  }
}

}  // namespace

std::vector<float> weight_scales(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                 size_t channels, WeightGranularity granularity, WeightScale how) {
  std::vector<float> largest(channels, 0.0f);
  for (size_t i = 0; i < weights.size(); ++i) {
    float& of_channel = largest[size_t(channel[i])];
    of_channel = std::max(of_channel, std::abs(weights[i]));
  }
  if (granularity == WeightGranularity::kPerTensor && channels > 0) {
    largest.assign(channels, *std::max_element(largest.begin(), largest.end()));
  }
  for (float& v : largest) v = scale_for(v);
  if (how != WeightScale::kMax && channels > 0) improve(weights, channel, granularity, how, largest);
  return largest;
}

std::vector<int8_t> round_weights(const std::vector<float>& weights, const std::vector<int32_t>& channel,
                                  const std::vector<float>& scale) {
  std::vector<int8_t> values(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    values[i] = int8_t(quantize(weights[i], scale[size_t(channel[i])], 0, -kLevels, kLevels));
  }
  return values;
}

QuantizedWeights quantize_constant(const std::vector<float>& values) {
  const std::vector<int32_t> channel(values.size(), 0);
  QuantizedWeights result;
  result.scale = weight_scales(values, channel, 1, WeightGranularity::kPerTensor);
  result.values = round_weights(values, channel, result.scale);
  return result;
}

}  // namespace lq::quantization
