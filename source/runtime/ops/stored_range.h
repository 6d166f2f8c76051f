// Which int8 values a tensor can hold when a kernel reads it.
#pragma once
#include "graph/graph.h"

namespace lq {

struct StoredRange {
  int32_t low = -128, high = 127;
};

/// The values the tensor's producer lets through, its zero point included (padding and empty lanes hold it). Only what
/// the runtime itself enforces counts: the clamp of a rule of docs/NUMERICS.md, or the range of what an operator that
/// moves values reads. Graph inputs, captured tensors and everything else may hold any int8, whatever their parameters
/// say.
StoredRange stored_range(const Graph& graph, TensorId id);

}  // namespace lq
