// What the user asked of single nodes: --skip and --precision patterns, resolved to one wish a node.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "libquant/quantizer.hpp"

namespace lq::quantization {

enum class Wish {
  kNone,   // the rules of precision.h decide
  kFloat,  // stays float
  kInt8,   // computes in int8 even where the rules would leave it float for resolution
  kInt16,  // in int16 likewise
};

struct NodeRequest {
  Wish wish = Wish::kNone;
  std::string reason;  // of kFloat: why, for the report
};
/// One entry a node of the graph, same order.
using NodeRequests = std::vector<NodeRequest>;

/// Splits REGEX=int8|int16|float at the last '='.
Result<PrecisionRule> parse_precision_rule(const std::string& text);

/// Patterns are ECMAScript regular expressions searched in node names and labels. `rules` apply in order, a later one
/// overrides an earlier one; `skip` overrides them all. Errors: a malformed pattern, one that matches no node, an int8
/// or int16 rule none of whose nodes has that form. `original_names`: nodes of the model before operators were folded,
/// so that the error can tell a folded node from a typo.
Result<NodeRequests> resolve_requests(const Graph& graph, const std::vector<std::string>& skip,
                                      const std::vector<PrecisionRule>& rules,
                                      const std::vector<std::string>& original_names);

}  // namespace lq::quantization
