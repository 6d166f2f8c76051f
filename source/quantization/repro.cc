#include "quantization/repro.h"

#include <algorithm>
#include <cstring>

#include "graph/branches.h"

namespace lq::quantization {
namespace {

Result<size_t> find_node(const Graph& graph, const std::string& name) {
  std::vector<size_t> found;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool makes = std::any_of(node.outputs.begin(), node.outputs.end(),
                                   [&](TensorId id) { return id != kNoTensor && graph.tensor(id).name == name; });
    if (node.name == name || makes) found.push_back(n);
  }
  if (found.empty())
    return invalid_argument("--dump-repro: no operator or result is called '" + name +
                            "'; lq-inspect MODEL --kernels lists the operators, --tensors the results");
  if (found.size() > 1)
    return invalid_argument("--dump-repro: " + std::to_string(found.size()) + " operators are called '" + name +
                            "'; name the result of the one you mean");
  if (graph.nodes[found[0]].op == Op::If)
    return invalid_argument("--dump-repro: '" + name +
                            "' is an If, whose branches are whole graphs; make its condition "
                            "constant with --fix-input and name an operator of the branch");
  return found[0];
}

/// The node's inputs that are no constants, each once.
std::vector<TensorId> variable_inputs(const Graph& graph, const Node& node) {
  std::vector<TensorId> ids;
  for (TensorId id : node.inputs) {
    if (id == kNoTensor || graph.tensor(id).is_constant() || std::find(ids.begin(), ids.end(), id) != ids.end())
      continue;
    ids.push_back(id);
  }
  return ids;
}

ModelIr node_alone(const ModelIr& model, size_t n, const std::vector<TensorId>& inputs) {
  ModelIr copy = model;
  copy.golden.reset();
  copy.inputs.clear();  // preprocessing is that of the whole model's inputs
  Graph& graph = copy.main();
  const Node node = graph.nodes[n];
  graph.nodes = {node};
  graph.inputs = inputs;
  graph.outputs.clear();
  for (TensorId id : node.outputs) {
    if (id != kNoTensor) graph.outputs.push_back(id);
  }
  remove_dead(graph);
  drop_unused_graphs(copy);
  return copy;
}

}  // namespace

Result<Repro> cut_out(const ModelIr& model, const std::string& name, const calibration::DataSource& source,
                      const MeasureOptions& options) {
  const Graph& graph = model.main();
  LQ_ASSIGN_OR_RETURN(const size_t n, find_node(graph, name));
  const std::vector<TensorId> inputs = variable_inputs(graph, graph.nodes[n]);
  if (inputs.empty()) return invalid_argument("--dump-repro: all inputs of '" + name + "' are constants");

  // Read through an Identity: a graph input cannot be an output as well, and an input's memory may be reused.
  ModelIr watched = model;
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor value = graph.tensor(inputs[i]);
    value.name = "input " + std::to_string(i) + " of " + name;
    names.push_back(value.name);
    Node tap;
    tap.op = Op::Identity;
    tap.inputs = {inputs[i]};
    tap.outputs = {watched.main().add_tensor(std::move(value))};
    watched.main().nodes.push_back(std::move(tap));
  }
  std::vector<size_t> places;
  LQ_ASSIGN_OR_RETURN(ModelIr part, only_outputs(watched, names, places));
  Repro repro{node_alone(model, n, inputs), {}};
  std::vector<std::vector<calibration::HostTensor>> of_sample(source.size());
  LQ_RETURN_IF_ERROR(
      run_samples(std::move(part), source, options, nullptr, [&](size_t sample, int, const Session& session) {
        for (size_t place : places) {
          const Tensor& t = session.output(place);
          calibration::HostTensor copy{t.dtype, t.shape, {}};
          const auto* bytes = static_cast<const uint8_t*>(session.output_data(place));
          copy.data.assign(bytes, bytes + size_t(element_count(t.shape)) * dtype_size(t.dtype));
          of_sample[sample].push_back(std::move(copy));
        }
      }));
  for (auto& tensors : of_sample) {
    if (!tensors.empty()) repro.samples.push_back(std::move(tensors));
  }
  if (repro.samples.empty()) return invalid_argument(source.folder() + ": no usable sample");
  Graph& alone = repro.model.main();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& input = alone.tensor(alone.inputs[i]);
    input.dtype = repro.samples[0][i].dtype, input.ranked = true, input.shape = repro.samples[0][i].shape;
    input.dim_names.clear();
  }
  return repro;
}

}  // namespace lq::quantization
