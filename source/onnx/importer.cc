#include "onnx/importer.h"

#include "base/file.h"
#include "graph/op_def.h"
#include "onnx/graph_builder.h"
#include "onnx/model_proto.h"

namespace lq {
namespace {

/// All unsupported operators in one message.
Status check_operators(const onnx::ModelProto& model, int opset) {
  struct Missing {
    int count = 0;
    std::string first, why;
  };
  std::map<std::string, Missing> missing;
  std::set<std::string> functions;
  for (const auto& f : model.functions()) functions.insert(f.domain() + "." + f.name());
  auto visit = [&](const onnx::NodeProto& node) {
    const bool local = functions.count(node.domain() + "." + node.op_type()) != 0;
    if (!local && is_supported(node, opset)) return;
    Missing& m = missing[operator_name(node)];
    if (m.count++ > 0) return;
    m.first = node.name().empty() ? (node.output_size() > 0 ? "-> '" + node.output(0) + "'" : "nameless")
                                  : "'" + node.name() + "'";
    const std::string opsets = is_default_domain(node.domain()) ? supported_opsets(node.op_type()) : "";
    if (local)
      m.why = "local function; inline it";
    else if (!is_default_domain(node.domain()))
      m.why = "domain '" + node.domain() + "'";
    else if (!opsets.empty())
      m.why = "supported in " + opsets + " only";
  };
  for_each_node(model.graph(), visit);
  if (missing.empty()) return {};
  std::string message;
  for (const auto& [name, m] : missing) {
    message += (message.empty() ? "" : ", ") + name + " x" + std::to_string(m.count) + " (first: " + m.first +
               (m.why.empty() ? "" : "; " + m.why) + ")";
  }
  return unsupported(std::to_string(missing.size()) + " unsupported operator" + (missing.size() == 1 ? "" : "s") +
                     " at opset " + std::to_string(opset) + ": " + message);
}

Status check_fixed_inputs(const onnx::GraphProto& graph, const ImportOptions& options) {
  std::set<std::string> known;
  std::string list;
  for (const auto& t : graph.initializer()) known.insert(t.name());
  std::set<std::string> inputs;
  for (const auto& v : graph.input()) {
    if (known.count(v.name()) != 0) continue;
    inputs.insert(v.name());
    list += (list.empty() ? "'" : ", '") + v.name() + "'";
  }
  for (const auto& [name, value] : options.fixed_inputs) {
    if (inputs.count(name) == 0) return invalid_argument("cannot fix input '" + name + "': the inputs are " + list);
  }
  return {};
}

Result<ModelIr> build(const onnx::ModelProto& proto, const std::string& base_dir, const ImportOptions& options) {
  LQ_ASSIGN_OR_RETURN(const int opset, opset_of(proto));
  LQ_RETURN_IF_ERROR(check_operators(proto, opset));
  LQ_RETURN_IF_ERROR(check_fixed_inputs(proto.graph(), options));
  ImportState state{options, opset, ExternalFiles(base_dir), {}};
  state.model.graphs.emplace_back();  // the main graph's place; branches are appended while it is being built
  GraphBuilder builder(state, proto.graph(), nullptr);
  LQ_RETURN_IF_ERROR(builder.build());
  state.model.graphs[0] = std::move(builder.graph());
  for (const auto& entry : proto.metadata_props()) {
    schema::MetadataT metadata;
    metadata.key = entry.key();
    metadata.value = entry.value();
    state.model.metadata.push_back(std::move(metadata));
  }
  for (Graph& graph : state.model.graphs) remove_dead(graph);
  if (state.model.main().outputs.empty()) return corrupt("the graph has no outputs");
  LQ_RETURN_IF_ERROR(verify(state.model));
  // As far as shapes follow from the declared inputs. A failure here (a declared shape that does not fit) is reported
  // with the shapes really used when a session is made.
  const Status inferred = infer_shapes(state.model, nullptr);
  if (!inferred.ok()) options.logger.log(LogLevel::kWarning, "shape inference: " + inferred.message());
  return std::move(state.model);
}

}  // namespace

Result<ModelIr> import_onnx_bytes(const void* data, size_t size, const std::string& name, const std::string& base_dir,
                                  const ImportOptions& options) {
  onnx::ModelProto proto;
  const Status parsed = parse_model(data, size, proto);
  if (!parsed.ok()) return parsed.with_context(name);
  auto model = build(proto, base_dir, options);
  if (!model.ok()) return model.status().with_context(name);
  return model;
}

Result<ModelIr> import_onnx(const std::string& path, const ImportOptions& options) {
  LQ_ASSIGN_OR_RETURN(const Bytes file, map_file(path));
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return import_onnx_bytes(file.data(), file.size(), path, folder, options);
}

}  // namespace lq
