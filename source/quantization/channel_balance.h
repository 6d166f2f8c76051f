// Channels of one activation tensor share one int8 scale: those far smaller than the largest keep few of the levels.
// Where nothing but convolutions makes and reads a tensor, each of its channels can be made as large as the others: the
// factor goes into the weights before and is taken out in the weights behind. (Meller et al. 2019, "Same, Same But
// Different: Recovering Neural Network Quantization Error Through Weight Factorization"; how far to go, activations
// against weights, as Xiao et al. 2022, "SmoothQuant", section 4.)
#pragma once
#include <string>
#include <vector>

#include "quantization/param_groups.h"
#include "quantization/tapped_run.h"

namespace lq::quantization {

/// Factors of a set of tensors whose channels are scaled alike.
struct ChannelFactors {
  std::string tensor;          // one of the set
  std::vector<int> exponents;  // channel c is divided by 2^exponents[c], 0 or below
};

/// Sets of tensors [N, C, …] joined by operators that scale with their input (Relu, LeakyRelu, PRelu, pooling, Resize,
/// sums of two of them, a product with a gate), written by Conv and read by Conv only, and the factors that lower the
/// expected error of what reads them: rounding of the tensors, which falls with the factors, and of the weights behind,
/// one scale an output channel, which rises. Factors are powers of two, so the float model keeps every bit (results
/// below the normal floats apart). Measured with the float model on every sample; does not depend on the thread count.
Result<std::vector<ChannelFactors>> choose_channel_factors(const ModelIr& model, const ParamGroups& groups,
                                                           const calibration::DataSource& source,
                                                           const MeasureOptions& options);

/// Puts them into the weights. Errors: a tensor whose channels cannot be scaled, another number of channels.
Status apply_channel_factors(Graph& graph, const std::vector<ChannelFactors>& factors);

}  // namespace lq::quantization
