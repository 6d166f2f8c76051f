// Which tensors' channels can be scaled alike: those that nothing but convolutions makes and reads.
#pragma once
#include <vector>

#include "graph/graph.h"
#include "quantization/conv_weights.h"

namespace lq::quantization {

/// Tensors whose channels must be scaled alike, and what makes and reads them.
struct ChannelClass {
  std::vector<TensorId> members;             // ascending
  std::vector<size_t> producers, consumers;  // indices of the convolutions
  size_t channels = 0;
};

/// In the order of their first members. Classes with another maker or reader (an operator that does not scale with its
/// input channel by channel, an input or output of the model) are left out.
std::vector<ChannelClass> find_channel_classes(const Graph& graph, const std::vector<ConvWeights>& convolutions);

}  // namespace lq::quantization
