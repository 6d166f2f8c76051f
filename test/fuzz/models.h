// Small models that together use most operators, for the mutation test. They run.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace lq::fuzz {

std::vector<ModelIr> make_models();

}  // namespace lq::fuzz
