// Einsum: the equation and the shape it gives.
#include <map>

#include "graph/geometry.h"
#include "graph/ops_common.h"

namespace lq {
namespace {

bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }

Status bad_equation(const std::string& equation, const char* why) {
  return invalid_argument("equation '" + equation + "': " + why);
}

/// A term of the equation as written: letters, and where the ellipsis stands (−1: none).
struct Term {
  std::vector<int> letters;
  int ellipsis = -1;
};

Result<Term> parse_term(const std::string& equation, const std::string& text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.letters.push_back(text[i]);
    } else if (text.compare(i, 3, "...") == 0 && term.ellipsis < 0) {
      term.ellipsis = int(term.letters.size());
      i += 2;
    } else {
      return bad_equation(equation, "unexpected character");
    }
  }
  return term;
}

/// The term with `count` axes in the place of its ellipsis; the last of them is kEllipsis + 0.
std::vector<int> expand(const Term& term, size_t count) {
  std::vector<int> labels = term.letters;
  if (term.ellipsis < 0) return labels;
  std::vector<int> axes;
  for (size_t i = count; i-- > 0;) axes.push_back(EinsumEquation::kEllipsis + int(i));
  labels.insert(labels.begin() + term.ellipsis, axes.begin(), axes.end());
  return labels;
}

Status check_output(const std::string& equation, const EinsumEquation& e) {
  for (size_t i = 0; i < e.output.size(); ++i) {
    bool found = false;
    for (const auto& in : e.inputs) {
      for (int label : in) found |= label == e.output[i];
    }
    if (!found) return bad_equation(equation, "an output label is in no input");
    for (size_t k = 0; k < i; ++k) {
      if (e.output[k] == e.output[i]) return bad_equation(equation, "an output label occurs twice");
    }
  }
  return {};
}

}  // namespace

Result<EinsumEquation> parse_einsum(const std::string& equation, const std::vector<size_t>& ranks) {
  std::string text;
  for (char ch : equation) {
    if (ch != ' ') text += ch;
  }
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<Term> terms;
  for (size_t begin = 0; begin <= left.size();) {
    size_t end = left.find(',', begin);
    if (end == std::string::npos) end = left.size();
    LQ_ASSIGN_OR_RETURN(Term term, parse_term(equation, left.substr(begin, end - begin)));
    terms.push_back(std::move(term));
    begin = end + 1;
  }
  if (terms.size() != ranks.size())
    return bad_equation(equation, "the number of terms differs from the number of operands");

  EinsumEquation e;
  size_t widest = 0;  // axes of the longest ellipsis
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t letters = terms[i].letters.size();
    if (ranks[i] < letters || (terms[i].ellipsis < 0 && ranks[i] != letters)) {
      return bad_equation(equation, "a term does not have as many labels as its operand has axes");
    }
    widest = std::max(widest, ranks[i] - letters);
    e.inputs.push_back(expand(terms[i], ranks[i] - letters));
  }
  if (arrow != std::string::npos) {
    LQ_ASSIGN_OR_RETURN(const Term out, parse_term(equation, text.substr(arrow + 2)));
    if (out.ellipsis < 0 && widest > 0) return bad_equation(equation, "summing over an ellipsis is not supported");
    e.output = expand(out, widest);
  } else {
    std::map<int, int> uses;  // ordered: implicit output is alphabetical
    for (const auto& in : e.inputs) {
      for (int label : in) ++uses[label];
    }
    for (size_t i = widest; i-- > 0;) e.output.push_back(EinsumEquation::kEllipsis + int(i));
    for (const auto& [label, n] : uses) {
      if (n == 1 && label < EinsumEquation::kEllipsis) e.output.push_back(label);
    }
  }
  LQ_RETURN_IF_ERROR(check_output(equation, e));
  return e;
}

namespace {

Status infer_einsum(InferContext& c) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has_input(i)) return invalid_argument("operand " + std::to_string(i) + " is missing");
    LQ_RETURN_IF_ERROR(same_dtype(c, 0, i));
    if (!c.ranked(i)) {
      c.set_unranked(0, c.dtype(0));
      return {};
    }
    ranks.push_back(c.shape(i).size());
  }
  LQ_ASSIGN_OR_RETURN(const EinsumEquation e, parse_einsum(attrs_as<schema::EinsumAttrsT>(c.node()).equation, ranks));
  std::map<int, int64_t> dims;
  for (size_t i = 0; i < e.inputs.size(); ++i) {
    for (size_t k = 0; k < e.inputs[i].size(); ++k) {
      const int64_t dim = c.shape(i)[k];
      const auto [it, fresh] = dims.try_emplace(e.inputs[i][k], dim);
      if (fresh) continue;
      auto merged = broadcast({it->second}, {dim});  // numpy lets a 1 stretch, for letters too
      if (!merged.ok()) return merged.status();
      it->second = (*merged)[0];
    }
  }
  Shape out;
  for (int label : e.output) out.push_back(dims[label]);
  c.set_output(0, c.dtype(0), std::move(out));
  return {};
}

constexpr OpDef kOps[] = {
    {Op::Einsum, 1, 255, 1, 1, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, schema::Attrs::EinsumAttrs, infer_einsum,
     nullptr},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> einsum_ops() { return kBuiltOps; }

}  // namespace lq
