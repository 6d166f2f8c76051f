// lq-inspect: what is in a model and how this machine would run it.
#include <set>

#include "base/file.h"
#include "calibration/preprocess.h"
#include "graph/op_forms.h"
#include "model_args.h"
#include "runtime/golden.h"
#include "runtime/prepare_graph.h"

namespace lq::tools {
namespace {

struct Options {
  ModelArgs model;
  bool json = false, kernels = false, tensors = false, ops = false;
  std::string dot;
};

/// int8 when an operator's arithmetic is integer, float when it computes in float, other for shapes, indices and layout.
const char* precision_of(const Graph& graph, const Node& node) {
  bool quantized = false, wide = false, floating = false;
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (TensorId id : *list) {
      if (id == kNoTensor) continue;
      const Tensor& t = graph.tensor(id);
      quantized |= t.quant.has_value();
      wide |= t.quant && t.dtype == DType::Int16;
      floating |= t.dtype == DType::Float32 && !t.is_constant();
    }
  }
  return wide ? "int16" : quantized ? "int8" : floating ? "float" : "other";
}

std::string params_string(const Tensor& t) {
  if (!t.quant) return "";
  const QuantParams& p = *t.quant;
  if (p.scale.size() == 1) return format(" scale %.8g zp %d q %d...%d", double(p.scale[0]), zero_point_at(p, 0), p.qmin, p.qmax);
  return format(" %zu scales along axis %d", p.scale.size(), p.axis);
}

std::string dot_escape(const std::string& s) {
  std::string r;
  for (char c : s) {
    if (c == '"' || c == '\\') r += '\\';
    r += c;
  }
  return r;
}

Status write_dot(const std::string& path, const Graph& graph) {
  std::string text = "digraph model {\n  node [shape=box];\n";
  const std::vector<int> producers = producers_of(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    text += format("  n%zu [label=\"%s\\n%s\"];\n", i, op_name(node.op), dot_escape(node.name).c_str());
    for (TensorId id : node.inputs) {
      if (id == kNoTensor || producers[size_t(id)] < 0) continue;
      text += format("  n%d -> n%zu [label=\"%s %s\"];\n", producers[size_t(id)], i, dtype_name(graph.tensor(id).dtype),
                     shape_string(graph.tensor(id).shape).c_str());
    }
  }
  text += "}\n";
  return write_file_atomically(path, {{text.data(), text.size()}});
}

struct Summary {
  std::map<std::string, std::map<std::string, int>> operators;  // precision -> operator -> count
  size_t weight_bytes = 0;
};

Summary summarize(const ModelIr& ir, const Session& session) {
  Summary s;
  for (const Node& node : session.fused_graph().nodes) ++s.operators[precision_of(session.fused_graph(), node)][op_name(node.op)];
  for (const Graph& graph : ir.graphs) {
    for (const Tensor& t : graph.tensors) s.weight_bytes += t.data.size();
  }
  return s;
}

void print_text(const Options& o, const ModelIr& ir, const Session& session, const Summary& s) {
  std::printf("model %s\nproducer %s\n", o.model.path().c_str(), ir.producer.empty() ? "-" : ir.producer.c_str());
  if (!ir.options.empty()) std::printf("options %s\n", ir.options.c_str());
  for (size_t i = 0; i < session.input_count(); ++i) {
    const Tensor& t = session.input(i);
    std::printf("input %s %s %s\n", t.name.c_str(), dtype_name(t.dtype), shape_string(ir.main().tensor(ir.main().inputs[i]).shape).c_str());
    for (const auto& info : ir.inputs) {
      if (info.name == t.name && info.preprocessing) std::printf("  preprocessing %s\n", calibration::describe_preprocessing(*info.preprocessing).c_str());
    }
  }
  for (size_t i = 0; i < session.output_count(); ++i) {
    const Tensor& t = session.output(i);
    std::printf("output %s %s %s\n", t.name.c_str(), dtype_name(t.dtype), shape_string(t.shape).c_str());
  }
  std::printf("file_bytes %zu weight_bytes %zu arena_bytes %zu\n", file_size(o.model.path()), s.weight_bytes, session.arena_bytes());
  for (const auto& [precision, ops] : s.operators) {
    std::printf("operators %s:", precision.c_str());
    for (const auto& [op, count] : ops) std::printf(" %s %d", op.c_str(), count);
    std::printf("\n");
  }
  std::printf("golden %s\n", ir.golden ? format("seed %llu hash %016llx", static_cast<unsigned long long>(ir.golden->seed),
                                                static_cast<unsigned long long>(ir.golden->output_hash)).c_str() : "none");
  std::printf("int8_mac_share %.4f\n", session.int8_mac_share());
  if (o.kernels) {
    for (const Step& step : session.steps()) {
      std::printf("kernel %-34s %-20s macs %-12lld %s%s%s%s\n", step.kernel, op_name(step.op), static_cast<long long>(step.macs),
                  step.node_name.c_str(), step.detail.empty() ? "" : " (", step.detail.c_str(), step.detail.empty() ? "" : ")");
    }
  }
  if (o.tensors) {
    for (const Tensor& t : ir.main().tensors) {
      std::printf("tensor %s %s %s%s%s\n", t.name.c_str(), dtype_name(t.dtype), shape_string(t.shape).c_str(), t.is_constant() ? " constant" : "",
                  params_string(t).c_str());
    }
  }
}

nlohmann::json to_json(const Options& o, const ModelIr& ir, const Session& session, const Summary& s) {
  nlohmann::json j{{"model", o.model.path()}, {"producer", ir.producer}, {"options", ir.options}, {"operators", s.operators},
                   {"file_bytes", file_size(o.model.path())}, {"weight_bytes", s.weight_bytes}, {"arena_bytes", session.arena_bytes()},
                   {"int8_mac_share", session.int8_mac_share()}};
  for (size_t i = 0; i < session.input_count(); ++i) {
    nlohmann::json input{{"name", session.input(i).name}, {"dtype", dtype_name(session.input(i).dtype)}, {"shape", session.input(i).shape}};
    for (const auto& info : ir.inputs) {
      if (info.name == session.input(i).name && info.preprocessing) input["preprocessing"] = calibration::describe_preprocessing(*info.preprocessing);
    }
    j["inputs"].push_back(input);
  }
  for (size_t i = 0; i < session.output_count(); ++i) {
    j["outputs"].push_back({{"name", session.output(i).name}, {"dtype", dtype_name(session.output(i).dtype)}, {"shape", session.output(i).shape}});
  }
  if (ir.golden) j["golden"] = {{"seed", ir.golden->seed}, {"hash", format("%016llx", static_cast<unsigned long long>(ir.golden->output_hash))}};
  for (const Step& step : session.steps()) {
    j["steps"].push_back({{"node", step.node_name}, {"operator", op_name(step.op)}, {"kernel", step.kernel}, {"detail", step.detail}, {"isa", isa_name(step.isa)},
                          {"macs", step.macs}, {"int8", step.integer}});
  }
  if (o.tensors) {
    for (const Tensor& t : ir.main().tensors) {
      nlohmann::json entry{{"name", t.name}, {"dtype", dtype_name(t.dtype)}, {"shape", t.shape}, {"constant", t.is_constant()}};
      if (t.quant) entry["quant"] = {{"scale", t.quant->scale}, {"zero_point", t.quant->zero_point}, {"qmin", t.quant->qmin}, {"qmax", t.quant->qmax}, {"axis", t.quant->axis}};
      if (t.range) entry["range"] = {t.range->min, t.range->max};
      j["tensors"].push_back(entry);
    }
  }
  return j;
}

using FormsOfOps = std::map<Op, unsigned>;

/// The runtime's evaluator of constants, and a note of what it was asked.
Status evaluate_and_note(void* context, const ModelIr& model, const Graph& graph, const Node& node, std::vector<Bytes>& outputs) {
  (*static_cast<FormsOfOps*>(context))[node.op] |= op_forms(graph, node);
  const Evaluator runtime = runtime_evaluator();
  return runtime.evaluate(runtime.context, model, graph, node, outputs);
}

/// For LIBQUANT_OPS: the operators of the file with the forms that running it needs, each once, sorted by name. What passes make every
/// build has; in a model with an If, whose branches may need other forms with other shapes, operators have every form.
Status print_ops(const ModelIr& ir, const std::map<std::string, Shape>& input_shapes) {
  FormsOfOps forms;
  bool branches = false;
  for (const Graph& graph : ir.graphs) {
    for (const Node& node : graph.nodes) forms[node.op], branches |= node.op == Op::If;
  }
  ModelIr prepared = ir;
  LQ_RETURN_IF_ERROR(prepare_graph(prepared, input_shapes, Evaluator{evaluate_and_note, &forms}));
  for (const Graph& graph : prepared.graphs) {
    for (const Node& node : graph.nodes) forms[node.op] |= op_forms(graph, node);
  }
  std::set<std::string> items;
  for (const auto& [op, bits] : forms) {
    const bool made_by_passes = op >= Op::Requantize;
    if (!made_by_passes) items.insert(branches ? op_name(op) : op_forms_item(op, bits));
  }
  for (const auto& input : ir.inputs) {
    if (input.preprocessing) items.insert("Image");
  }
  // A list of nothing would build everything.
  if (items.empty()) items.insert(op_name(Op::Identity));
  std::string line;
  for (const std::string& item : items) line += (line.empty() ? "" : ",") + item;
  std::printf("%s\n", line.c_str());
  return {};
}

Status run(const Options& o) {
  SessionOptions options;
  LQ_ASSIGN_OR_RETURN(options.isa, o.model.isa());
  LQ_ASSIGN_OR_RETURN(options.input_shapes, o.model.input_shapes());
  LQ_ASSIGN_OR_RETURN(const ModelIr ir, o.model.load());
  if (o.ops) {
    const Status printed = print_ops(ir, options.input_shapes);
    return printed.ok() ? printed : printed.with_context(o.model.path());
  }
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, in_file(o.model.path(), Model::create(ir)));
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, in_file(o.model.path(), Session::create(model, options)));
  const Summary summary = summarize(ir, *session);
  if (!o.dot.empty()) LQ_RETURN_IF_ERROR(write_dot(o.dot, ir.main()));
  if (!o.json) {
    print_text(o, ir, *session, summary);
    return {};
  }
  std::printf("%s\n", to_json(o, ir, *session, summary).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return {};
}

}  // namespace
}  // namespace lq::tools

int main(int argc, char** argv) {
  using namespace lq::tools;
  CLI::App app("Look inside a model (.lqm or .onnx).");
  Options o;
  o.model.add_model(app, "model file (.lqm or .onnx)");
  app.add_flag("--json", o.json, "print everything as JSON");
  app.add_flag("--kernels", o.kernels, "the kernel of each operator, and what packing chose for it");
  app.add_flag("--tensors", o.tensors, "every tensor: type, shape, quantization parameters");
  app.add_flag("--ops", o.ops, "what it needs of the library, in one line and nothing else: what -DLIBQUANT_OPS= takes");
  app.add_option("--dot", o.dot, "write the graph for Graphviz")->type_name("FILE");
  o.model.add_isa(app);
  return run_tool(app, "lq-inspect", argc, argv, [&] { return run(o); });
}
