#include "onnx/importer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <climits>
#include <cstring>

#include "base/file.h"
#include "graph/op_def.h"
#include "onnx/graph_builder.h"

namespace lq {
namespace {

/// What a file that is no ONNX model most likely is, by its first bytes.
const char* guess_format(const uint8_t* data, size_t size) {
  const std::pair<const char*, const char*> kMagics[] = {
      {"\x89PNG", "a PNG image"}, {"\xff\xd8\xff", "a JPEG image"}, {"PK\x03\x04", "a zip archive (a PyTorch file?)"},
      {"\x1f\x8b", "a gzip file"}, {"GIF8", "a GIF image"}, {"BM", "a BMP image"}, {"\x93NUMPY", "a .npy file"},
      {"version https://git-lfs", "a git-lfs pointer; fetch the real file"}, {"\x7f" "ELF", "a program"}};
  for (const auto& [magic, what] : kMagics) {
    if (size >= std::strlen(magic) && std::memcmp(data, magic, std::strlen(magic)) == 0) return what;
  }
  if (size >= 8 && std::memcmp(data + 4, "LQM1", 4) == 0) return "a .lqm model, quantized already";
  if (size >= 8 && std::memcmp(data + 4, "TFL3", 4) == 0) return "a TensorFlow Lite model";
  return nullptr;
}

Status parse(const void* data, size_t size, onnx::ModelProto& model) {
  if (size == 0) return corrupt("the file is empty");
  if (const char* guess = guess_format(static_cast<const uint8_t*>(data), size)) {
    return corrupt(std::string("is not an ONNX model but ") + guess);
  }
  if (size > size_t(INT_MAX)) {
    return unsupported("is over 2 GB, more than protobuf reads; save the weights as external data");
  }
  google::protobuf::io::ArrayInputStream array(data, int(size));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(INT_MAX);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return corrupt("is not a valid ONNX model: the protobuf does not parse (truncated, or another format)");
  }
  if (!model.has_graph() || model.opset_import_size() == 0) {
    return corrupt("is not an ONNX model: it has no graph or no opset");
  }
  return {};
}

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

Result<int> opset_of(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const auto& entry : model.opset_import()) {
    if (is_default_domain(entry.domain())) opset = entry.version();
  }
  if (opset < 1) return unsupported("imports no opset of the default ONNX domain");
  if (opset > kLatestOpset) {
    return unsupported("opset " + std::to_string(opset) + " is newer than this importer (" + std::to_string(kOldestOpset) +
                       " to " + std::to_string(kLatestOpset) + "); export with opset " + std::to_string(kLatestOpset) + " or older");
  }
  return int(opset);
}

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

std::string operator_name(const onnx::NodeProto& node) {
  return is_default_domain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
}

bool is_supported(const onnx::NodeProto& node, int opset) {
  return is_default_domain(node.domain()) && find_import_row(node.op_type(), opset) != nullptr;
}

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
    m.first = node.name().empty() ? (node.output_size() > 0 ? "-> '" + node.output(0) + "'" : "nameless") : "'" + node.name() + "'";
    const std::string opsets = is_default_domain(node.domain()) ? supported_opsets(node.op_type()) : "";
    if (local) m.why = "local function; inline it";
    else if (!is_default_domain(node.domain())) m.why = "domain '" + node.domain() + "'";
    else if (!opsets.empty()) m.why = "supported in " + opsets + " only";
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
  // As far as shapes follow from the declared inputs. A failure here (a declared shape that does not fit) is reported with
  // the shapes really used when a session is made.
  const Status inferred = infer_shapes(state.model, nullptr);
  if (!inferred.ok()) options.logger.log(LogLevel::kWarning, "shape inference: " + inferred.message());
  return std::move(state.model);
}

}  // namespace

Result<ModelIr> import_onnx_bytes(const void* data, size_t size, const std::string& name, const std::string& base_dir,
                                  const ImportOptions& options) {
  onnx::ModelProto proto;
  const Status parsed = parse(data, size, proto);
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

Result<OnnxSummary> summarize_onnx(const std::string& path) {
  LQ_ASSIGN_OR_RETURN(const Bytes file, map_file(path));
  onnx::ModelProto proto;
  const Status parsed = parse(file.data(), file.size(), proto);
  if (!parsed.ok()) return parsed.with_context(path);
  const auto opset = opset_of(proto);
  if (!opset.ok()) return opset.status().with_context(path);
  OnnxSummary summary;
  std::set<std::string> constants, operators, planning;
  auto visit = [&](const onnx::NodeProto& node) {
    if (operators.insert(operator_name(node)).second) {
      summary.operators.push_back({node.domain(), node.op_type(), *opset, is_supported(node, *opset)});
    }
    if (!is_supported(node, *opset)) return;
    const ImportRow* row = find_import_row(node.op_type(), *opset);
    const OpDef* def = find_op(row->op);
    const uint32_t mask = row->constant_inputs | (def != nullptr ? def->planning_inputs : 0);
    for (int i = 0; i < std::min(node.input_size(), 32); ++i) {
      if (mask >> i & 1) planning.insert(node.input(i));
    }
  };
  for_each_node(proto.graph(), visit);
  for (const auto& t : proto.graph().initializer()) constants.insert(t.name());
  for (const auto& v : proto.graph().input()) {
    if (constants.count(v.name()) != 0) continue;
    OnnxInput input;
    auto tensor = tensor_from_value_info(v);
    if (tensor.ok()) input.tensor = std::move(*tensor);
    else input.tensor.name = v.name();
    input.known_at_planning = planning.count(v.name()) != 0;
    summary.inputs.push_back(std::move(input));
  }
  for (const auto& v : proto.graph().output()) summary.outputs.push_back(v.name());
  return summary;
}

}  // namespace lq
