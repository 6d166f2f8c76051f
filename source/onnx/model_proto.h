// Reading the ModelProto itself, and walking it.
#pragma once
#include <onnx/onnx_pb.h>

#include <string>

#include "base/status.h"

namespace lq {

/// Fails for an empty file, another format (named where its first bytes tell), a truncated one, and no graph.
Status parse_model(const void* data, size_t size, onnx::ModelProto& model);
/// Version of the default domain, at most kLatestOpset.
Result<int> opset_of(const onnx::ModelProto& model);

bool is_default_domain(const std::string& domain);
/// "Conv", "com.microsoft.FusedConv".
std::string operator_name(const onnx::NodeProto& node);
/// Whether the importer has a row for it.
bool is_supported(const onnx::NodeProto& node, int opset);

/// fn(node) for every node of the graph and of its sub-graphs.
template <typename Fn>
void for_each_node(const onnx::GraphProto& graph, Fn& fn) {
  for (const auto& node : graph.node()) {
    fn(node);
    for (const auto& a : node.attribute()) {
      if (a.has_g()) for_each_node(a.g(), fn);
      for (const auto& g : a.graphs()) for_each_node(g, fn);
    }
  }
}

}  // namespace lq
