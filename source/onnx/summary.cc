// What a model asks for, without importing it.
#include <algorithm>

#include "base/file.h"
#include "graph/op_def.h"
#include "onnx/graph_builder.h"
#include "onnx/importer.h"
#include "onnx/model_proto.h"

namespace lq {
namespace {

OnnxValue describe(const onnx::ValueInfoProto& info) {
  OnnxValue value;
  value.tensor.name = info.name();
  auto tensor = tensor_from_value_info(info);
  if (!tensor.ok()) return value;
  value.tensor = std::move(*tensor);
  value.declared = *dtype_from_onnx(info.type().tensor_type().elem_type());
  return value;
}

/// Inputs of a node whose values must be known to plan it.
void add_planning_inputs(const onnx::NodeProto& node, int opset, std::set<std::string>& names) {
  const ImportRow* row = find_import_row(node.op_type(), opset);
  const OpDef* def = find_op(row->op);
  const uint32_t mask = row->constant_inputs | (def != nullptr ? def->planning_inputs : 0);
  for (int i = 0; i < std::min(node.input_size(), 32); ++i) {
    if ((mask >> i & 1) != 0 && !node.input(i).empty()) names.insert(node.input(i));
  }
}

/// A value known at planning needs everything it is computed from; Shape and Size need shapes only.
std::set<std::string> planning_values(const onnx::GraphProto& graph, int opset) {
  std::set<std::string> names;
  std::vector<const onnx::NodeProto*> nodes;
  auto visit = [&](const onnx::NodeProto& node) {
    if (!is_supported(node, opset)) return;
    nodes.push_back(&node);
    add_planning_inputs(node, opset, names);
  };
  for_each_node(graph, visit);
  for (size_t before = SIZE_MAX; before != names.size();) {  // nodes may be in any order: until nothing is added
    before = names.size();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if ((*node)->op_type() == "Shape" || (*node)->op_type() == "Size") continue;
      const auto& outputs = (*node)->output();
      if (std::none_of(outputs.begin(), outputs.end(), [&](const std::string& o) { return names.count(o) != 0; }))
        continue;
      names.insert((*node)->input().begin(), (*node)->input().end());
    }
  }
  return names;
}

}  // namespace

Result<OnnxSummary> summarize_onnx(const std::string& path) {
  LQ_ASSIGN_OR_RETURN(const Bytes file, map_file(path));
  onnx::ModelProto proto;
  const Status parsed = parse_model(file.data(), file.size(), proto);
  if (!parsed.ok()) return parsed.with_context(path);
  const auto known = opset_of(proto);
  const int opset = known.ok() ? *known : 0;  // 0: no operator of this model is supported
  OnnxSummary summary;
  std::set<std::string> operators, constants;
  auto visit = [&](const onnx::NodeProto& node) {
    if (!operators.insert(operator_name(node)).second) return;
    summary.operators.push_back({node.domain(), node.op_type(), opset, is_supported(node, opset)});
  };
  for_each_node(proto.graph(), visit);
  const std::set<std::string> planning = planning_values(proto.graph(), opset);
  for (const auto& t : proto.graph().initializer()) constants.insert(t.name());
  for (const auto& info : proto.graph().input()) {
    if (constants.count(info.name()) != 0) continue;
    summary.inputs.push_back(describe(info));
    summary.inputs.back().known_at_planning = planning.count(info.name()) != 0;
  }
  for (const auto& info : proto.graph().output()) summary.outputs.push_back(describe(info));
  return summary;
}

}  // namespace lq
