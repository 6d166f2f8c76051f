// Weights of convolutions while channels between them are rescaled.
#pragma once
#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace lq::quantization {

/// A Conv's weights while they are being changed.
struct ConvWeights {
  int node = -1;
  size_t channels = 0, in_group = 0, taps = 0;  // [channels, in_group, taps]
  bool depthwise = false;
  std::vector<float> weight, bias;  // bias empty when absent
  bool changed = false;

  size_t inputs() const { return depthwise ? channels : in_group; }
  /// Calls f(weight) for everything output channel c is made with, or input channel c is read with.
  template <typename F>
  void each_of_output(size_t c, F&& f) {
    for (size_t i = 0; i < in_group * taps; ++i) f(weight[c * in_group * taps + i]);
  }
  template <typename F>
  void each_of_input(size_t c, F&& f) {
    if (depthwise) return each_of_output(c, f);
    for (size_t m = 0; m < channels; ++m) {
      for (size_t t = 0; t < taps; ++t) f(weight[(m * in_group + c) * taps + t]);
    }
  }
};

/// Every Conv of one group or depthwise (one filter a channel) with constant weights, in execution order.
std::vector<ConvWeights> find_convolutions(const Graph& graph);

/// Gives each Conv that changed new constants: other readers keep the old ones.
void write_weights(Graph& graph, const std::vector<ConvWeights>& convolutions);

}  // namespace lq::quantization
