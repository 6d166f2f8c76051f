// Small models that together use most operators, for the mutation test. They run.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace lq::fuzz {

std::vector<ModelIr> make_models();
/// Adds the repository's mnist, quantized, where the toolchain is built; otherwise nothing.
Status add_mnist(std::vector<ModelIr>& models);

}  // namespace lq::fuzz
