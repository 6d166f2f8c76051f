// How long each operator of the finished model takes here: for the report only, no decision rests on it.
#pragma once
#include "graph/graph.h"
#include "libquant/quantizer.hpp"

namespace lq::quantization {

/// Fills `milliseconds` of the report's nodes: one thread, inputs of zeros in the shapes of the first sample, the
/// shortest of a few runs. Operators that are fused into others, nameless or named twice get none; a model that cannot
/// run on zeros gets none at all.
void time_operators(const ModelIr& model, QuantizeReport& report);

}  // namespace lq::quantization
