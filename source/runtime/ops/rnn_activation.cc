#include "runtime/ops/rnn_activation.h"

#include <cmath>

#include "numerics/elementary.h"

namespace lq {
namespace {

struct Row {
  const char* name;
  double (*function)(double x, double alpha, double beta);
  bool has_alpha, has_beta;
  double alpha, beta;  // ONNX defaults
};

const Row kFunctions[] = {
    {"sigmoid", [](double x, double, double) { return elementary::sigmoid(x); }, false, false, 0, 0},
    {"tanh", [](double x, double, double) { return elementary::tanh(x); }, false, false, 0, 0},
    {"relu", [](double x, double, double) { return x > 0 ? x : 0; }, false, false, 0, 0},
    {"affine", [](double x, double a, double b) { return a * x + b; }, true, true, 1, 0},
    {"leakyrelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, true, false, 0.01, 0},
    {"thresholdedrelu", [](double x, double a, double) { return x >= a ? x : 0; }, true, false, 1, 0},
    {"scaledtanh", [](double x, double a, double b) { return a * elementary::tanh(b * x); }, true, true, 1, 1},
    {"hardsigmoid", [](double x, double a, double b) { return elementary::hard_sigmoid(x, a, b); }, true, true, 0.2,
     0.5},
    {"elu", [](double x, double a, double) { return elementary::elu(x, a); }, true, false, 1, 0},
    {"softsign", [](double x, double, double) { return x / (1 + std::fabs(x)); }, false, false, 0, 0},
    {"softplus", [](double x, double, double) { return elementary::log1p_exp(x); }, false, false, 0, 0},
};

std::string lower(std::string text) {
  for (char& ch : text) {
    if (ch >= 'A' && ch <= 'Z') ch = char(ch - 'A' + 'a');
  }
  return text;
}

}  // namespace

Result<std::vector<RnnActivation>> rnn_activations(const schema::RnnAttrsT& attrs,
                                                   const std::vector<std::string>& defaults, size_t directions) {
  std::vector<std::string> names = attrs.activations;
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != defaults.size() * directions) return invalid_argument("wrong number of activations");
  std::vector<RnnActivation> result;
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const Row* found = nullptr;
    for (const Row& row : kFunctions) {
      if (lower(name) == row.name) found = &row;
    }
    if (found == nullptr) return unsupported("activation '" + name + "' is unknown");
    RnnActivation a{found->function, found->alpha, found->beta};
    if (found->has_alpha && alpha < attrs.activation_alpha.size()) a.alpha = double(attrs.activation_alpha[alpha++]);
    if (found->has_beta && beta < attrs.activation_beta.size()) a.beta = double(attrs.activation_beta[beta++]);
    result.push_back(a);
  }
  return result;
}

}  // namespace lq
