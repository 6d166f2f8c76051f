// The order of a graph's nodes: exporters may write them in any order, and an If depends on what its branches capture.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "onnx/graph_builder.h"

namespace lq {
namespace {

/// Names a sub-graph takes from outside, in order of first use.
void outer_names(const onnx::GraphProto& graph, std::vector<std::string>& out) {
  std::set<std::string> local;
  for (const auto& t : graph.initializer()) local.insert(t.name());
  for (const auto& v : graph.input()) local.insert(v.name());
  for (const auto& n : graph.node()) local.insert(n.output().begin(), n.output().end());
  auto use = [&](const std::string& name) {
    if (!name.empty() && local.count(name) == 0) out.push_back(name);
  };
  for (const auto& n : graph.node()) {
    for (const std::string& name : n.input()) use(name);
    for (const auto& a : n.attribute()) {
      std::vector<std::string> inner;
      if (a.has_g()) outer_names(a.g(), inner);
      for (const std::string& name : inner) use(name);
    }
  }
  for (const auto& v : graph.output()) use(v.name());
}

std::vector<std::string> needs_of(const onnx::NodeProto& node) {
  std::vector<std::string> needs(node.input().begin(), node.input().end());
  for (const auto& a : node.attribute()) {
    if (a.has_g()) outer_names(a.g(), needs);
  }
  return needs;
}

}  // namespace

Result<std::vector<const onnx::NodeProto*>> ordered_nodes(const onnx::GraphProto& proto, bool is_main) {
  std::unordered_map<std::string, int> producer;
  std::set<std::string> given;
  for (const auto& t : proto.initializer()) given.insert(t.name());
  for (const auto& v : proto.input()) given.insert(v.name());
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string& name : proto.node(n).output()) {
      if (name.empty()) continue;
      if (given.count(name) != 0 || !producer.emplace(name, n).second) {
        return corrupt(onnx_label(proto.node(n)) + ": output '" + name +
                       "' already exists (another node's output, an input or an initializer)");
      }
    }
  }
  std::vector<int> waiting(size_t(proto.node_size()), 0);
  std::vector<std::vector<int>> readers(size_t(proto.node_size()));
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string& name : needs_of(proto.node(n))) {
      if (name.empty() || given.count(name) != 0) continue;
      const auto found = producer.find(name);
      if (found != producer.end()) {
        readers[size_t(found->second)].push_back(n);
        ++waiting[size_t(n)];
      } else if (is_main) {
        return corrupt(onnx_label(proto.node(n)) + ": input '" + name +
                       "' is produced by no node, and is no input or initializer");
      }
    }
  }
  // Kahn's algorithm, smallest index first: an ordered graph keeps its order.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int n = 0; n < proto.node_size(); ++n) {
    if (waiting[size_t(n)] == 0) ready.push(n);
  }
  std::vector<const onnx::NodeProto*> nodes;
  while (!ready.empty()) {
    const int n = ready.top();
    ready.pop();
    nodes.push_back(&proto.node(n));
    for (int reader : readers[size_t(n)]) {
      if (--waiting[size_t(reader)] == 0) ready.push(reader);
    }
  }
  for (int n = 0; n < proto.node_size(); ++n) {
    if (waiting[size_t(n)] > 0) return corrupt(onnx_label(proto.node(n)) + ": is part of a cycle");
  }
  return nodes;
}

const std::string& op_type_of(const onnx::NodeProto& node) { return node.op_type(); }

int64_t int_attribute_of(const onnx::NodeProto& node, const char* name, int64_t fallback) {
  for (const auto& a : node.attribute()) {
    if (a.name() == name && a.type() == onnx::AttributeProto::INT) return a.i();
  }
  return fallback;
}

std::string onnx_label(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.op_type() + " '" + node.name() + "'";
  for (const std::string& name : node.output()) {
    if (!name.empty()) return node.op_type() + " (-> '" + name + "')";
  }
  return node.op_type();
}

}  // namespace lq
