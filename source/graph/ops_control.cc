// If and Custom.
#include "graph/ops_common.h"

namespace lq {
namespace {

/// If's outputs come from its branches, which only infer_shapes sees: it sets them after inferring the branch graphs.
Status infer_if(InferContext& c) {
  LQ_RETURN_IF_ERROR(expect_dtype(c, 0, DType::Bool));
  return expect_single(c, 0);
}

/// Nothing is known about a custom operator here: its outputs keep the shapes the file gives them.
Status infer_custom(InferContext&) { return {}; }

Status check_custom(const Node& node) {
  if (attrs_as<schema::CustomAttrsT>(node).name.empty()) return invalid_argument("a custom operator needs a name");
  return {};
}

constexpr OpDef kOps[] = {
    {Op::If, 1, 255, 1, 255, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, schema::Attrs::NONE, infer_if, nullptr},
    {Op::Custom, 0, 255, 1, 255, 0, QuantRule::kFloatOnly, LayoutRule::kLinear, schema::Attrs::CustomAttrs,
     infer_custom, check_custom},
};
constexpr auto kBuiltOps = built_rows(kOps);

}  // namespace

std::span<const OpDef> control_ops() { return kBuiltOps; }

}  // namespace lq
