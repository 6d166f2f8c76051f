// AdaRound: each weight is rounded up or down so that the product's result, not the weight, changes least.
#pragma once
#include <cstdint>
#include <vector>

#include "quantization/weight_moments.h"

namespace lq::quantization {

/// Where the weights of a product lie: weight k of output channel m is at m·size + k (Conv), or k·channels + m ([K, N]
/// matrices).
struct WeightLayout {
  bool is_matrix = false;
  size_t channels = 0, size = 0;
  size_t at(size_t m, size_t k) const { return is_matrix ? k * channels + m : m * size + k; }
};

/// Changes `rounded` (nearest rounding on entry, −127…127) to lower  Σ_m δ_mᵀ H δ_m,  δ = scale·q − w: the expected
/// squared error of the results (Nagel et al. 2020, "Up or Down? Adaptive Rounding for Post-Training Quantization",
/// equation 20; H is its Hessian of the layer's reconstruction). The paper relaxes the binary choice and descends along
/// the gradient; since H is known here, coordinate descent solves the same problem: weights of a channel are flipped
/// between floor and ceiling, one at a time in a fixed order, while that lowers the sum. H is the measured covariance,
/// its off-diagonal entries shrunk by size/(size + rows) for what few rows cannot know, plus input_scale²/12 on the
/// diagonal: the noise of the quantized input. Channels are independent: threads do not change the result. A channel
/// whose Σ|q| would grow beyond `largest_sum[m]` keeps nearest rounding.
Status adaround(const std::vector<float>& weights, const std::vector<float>& scale, const WeightLayout& layout,
                const WeightMoments& moments, double input_scale, const std::vector<double>& largest_sum, int threads,
                std::vector<int8_t>& rounded);

}  // namespace lq::quantization
