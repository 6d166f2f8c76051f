#include "quantization/node_requests.h"

#include <regex>

#include "quantization/precision.h"

namespace lq::quantization {
namespace {

/// One pattern and the option it came from, for messages.
class Pattern {
 public:
  static Result<Pattern> compile(const std::string& option, const std::string& text) {
    try {
      return Pattern(option + " '" + text + "'", std::regex(text));
    } catch (const std::regex_error& error) {
      return invalid_argument(option + " '" + text + "' is no regular expression: " + error.what());
    }
  }

  /// Indices of the nodes it matches; none is an error.
  Result<std::vector<size_t>> matches(const Graph& graph, const std::vector<std::string>& original_names) const {
    std::vector<size_t> found;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (std::regex_search(node.name, regex_) || std::regex_search(node_label(graph, node), regex_))
        found.push_back(n);
    }
    if (!found.empty()) return found;
    for (const std::string& name : original_names) {
      if (!std::regex_search(name, regex_)) continue;
      return invalid_argument(what_ + " matches only nodes that were folded into another operator, such as '" + name +
                              "'; name the convolution or product before it");
    }
    return invalid_argument(what_ + " matches no node; names are listed by lq-inspect");
  }
  const std::string& what() const { return what_; }

 private:
  Pattern(std::string what, std::regex regex) : what_(std::move(what)), regex_(std::move(regex)) {}
  std::string what_;
  std::regex regex_;
};

}  // namespace

Result<PrecisionRule> parse_precision_rule(const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    return invalid_argument("--precision '" + text + "': expected REGEX=int8, REGEX=int16 or REGEX=float");
  PrecisionRule rule{text.substr(0, at), text.substr(at + 1)};
  if (rule.precision != "int8" && rule.precision != "int16" && rule.precision != "float")
    return invalid_argument("--precision '" + text + "': '" + rule.precision + "' is not int8, int16 or float");
  return rule;
}

Result<NodeRequests> resolve_requests(const Graph& graph, const std::vector<std::string>& skip,
                                      const std::vector<PrecisionRule>& rules,
                                      const std::vector<std::string>& original_names) {
  NodeRequests requests(graph.nodes.size());
  for (const PrecisionRule& rule : rules) {
    LQ_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::compile("--precision", rule.pattern));
    LQ_ASSIGN_OR_RETURN(const std::vector<size_t> nodes, pattern.matches(graph, original_names));
    std::string why;
    bool any = false;
    for (size_t n : nodes) {
      if (rule.precision == "float") {
        requests[n] = {Wish::kFloat, "asked for (--precision)"};
        any = true;
        continue;
      }
      const bool wide = rule.precision == "int16";
      const std::string reason = wide ? why_not_int16(graph, graph.nodes[n]) : why_not_int8(graph, graph.nodes[n]);
      if (why.empty()) why = node_label(graph, graph.nodes[n]) + ": " + reason;
      any |= reason.empty();
      // Its row in the report gives the reason. Asked for in int16, an operator shall not fall to int8.
      if (reason.empty() || wide) requests[n] = {wide ? Wish::kInt16 : Wish::kInt8, ""};
    }
    if (!any)
      return invalid_argument(pattern.what() + ": no node it matches can compute in " + rule.precision + " (" + why +
                              ")");
  }
  for (const std::string& text : skip) {
    LQ_ASSIGN_OR_RETURN(const Pattern pattern, Pattern::compile("--skip", text));
    LQ_ASSIGN_OR_RETURN(const std::vector<size_t> nodes, pattern.matches(graph, original_names));
    for (size_t n : nodes) requests[n] = {Wish::kFloat, "asked for (--skip)"};
  }
  return requests;
}

}  // namespace lq::quantization
