// The activation functions LSTM and GRU may name.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq {

struct RnnActivation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0, beta = 0;
  float operator()(float x) const { return float(function(double(x), alpha, beta)); }
};

/// The attributes' activations in order, or `defaults` repeated for each direction when none are named. Values of
/// activation_alpha and activation_beta go, in order, to the functions that take one.
Result<std::vector<RnnActivation>> rnn_activations(const schema::RnnAttrsT& attrs,
                                                   const std::vector<std::string>& defaults, size_t directions);

}  // namespace lq
