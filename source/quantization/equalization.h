// Cross-layer equalization for weights with one scale a tensor: channels between two convolutions are rescaled so that
// none of them has far smaller weights than the others. (Nagel et al. 2019, "Data-Free Quantization Through Weight
// Equalization and Bias Correction", section 4.1.)
#pragma once
#include <cstddef>

#include "graph/graph.h"

namespace lq::quantization {

struct EqualizationReport {
  size_t pairs = 0;   // of convolutions that were rescaled
  size_t bounds = 0;  // Clips that became Relu and a Min with one bound a channel
};

/// For each Conv whose result goes through nothing, a Relu or a Clip [0, b] to one other Conv (of one group or
/// depthwise): channel c of the first is divided and of the second multiplied by s = √(r₁/r₂), r the largest weight of
/// the channel on its side (for the first one at least a fifth of its bias: a channel that is hardly more than a bias
/// must not be blown up, one scale has to hold all channels' values, too), repeated until nothing changes. s is a power
/// of two, so every product keeps its bits and the float model computes exactly what it did (results below the normal
/// floats apart). A Clip's bound becomes b/s[c], as Relu and Min, which stay float; Clips with another lower bound
/// leave their pair alone, so do results that have other readers or are model outputs.
EqualizationReport equalize(Graph& graph);

}  // namespace lq::quantization
