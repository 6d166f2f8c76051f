#include "quantization/staged_run.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "calibration/worker_session.h"
#include "graph/branches.h"

namespace lq::quantization {
namespace {

using calibration::HostTensor;

/// What a piece is not cut at: dequantized values would hide from the next piece that they are int8, and shapes have to
/// be computed in the piece that needs them, where they are known before it runs.
bool recomputed(const Graph& graph, TensorId id, const std::vector<int>& producers) {
  const int n = producers[size_t(id)];
  if (n < 0) return false;
  const DType dtype = graph.tensor(id).dtype;
  return graph.nodes[size_t(n)].op == Op::DequantizeLinear ||
         (dtype != DType::Float32 && dtype != DType::Int8 && dtype != DType::UInt8);
}

std::vector<bool> ancestors_of(const Graph& graph, const std::vector<int>& nodes, const std::vector<int>& producers) {
  std::vector<bool> marked(graph.nodes.size(), false);
  std::vector<int> open(nodes);
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    if (marked[size_t(n)]) continue;
    marked[size_t(n)] = true;
    for (TensorId t : graph.nodes[size_t(n)].inputs) {
      if (t != kNoTensor && producers[size_t(t)] >= 0) open.push_back(producers[size_t(t)]);
    }
  }
  return marked;
}

HostTensor output_of(const Session& session, size_t i) {
  HostTensor t;
  t.dtype = session.output(i).dtype;
  t.shape = session.output(i).shape;
  const auto bytes = size_t(std::max<int64_t>(element_count(t.shape), 0)) * dtype_size(t.dtype);
  const auto* data = static_cast<const uint8_t*>(session.output_data(i));
  t.data.assign(data, data + bytes);
  return t;
}

}  // namespace

StagedRun::StagedRun(const ModelIr& model, std::vector<int> stops, const MeasureOptions& options, size_t most_bytes)
    : model_(model),
      stops_(std::move(stops)),
      options_(options),
      most_bytes_(most_bytes),
      producers_(producers_of(model.main())),
      leads_to_stop_(ancestors_of(model.main(), stops_, producers_)),
      inputs_(model.main().inputs),
      live_(model.main().inputs) {
  std::sort(live_.begin(), live_.end());
}

Status StagedRun::load(const calibration::DataSource& source, const std::vector<uint8_t>& wanted) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (wanted[i] == 0) continue;
    LQ_ASSIGN_OR_RETURN(calibration::Sample sample, source.load(i));
    Kept kept{i, std::vector<HostTensor>(live_.size())};
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const auto place = std::lower_bound(live_.begin(), live_.end(), inputs_[k]);
      kept.values[size_t(place - live_.begin())] = std::move(sample.inputs[k]);
    }
    kept_.push_back(std::move(kept));
  }
  give_up_samples();
  return {};
}

/// Tensors known before `node` that it or a later node on the way to a stop reads.
std::vector<TensorId> StagedRun::live_before(int node) const {
  const Graph& graph = model_.main();
  std::set<TensorId> live, seen;
  std::vector<TensorId> open;
  for (size_t n = size_t(node); n < graph.nodes.size(); ++n) {
    if (leads_to_stop_[n]) open.insert(open.end(), graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end());
  }
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    if (t == kNoTensor || graph.tensor(t).is_constant() || !seen.insert(t).second) continue;
    const int producer = producers_[size_t(t)];
    if (producer >= node) continue;
    if (!recomputed(graph, t, producers_)) {
      live.insert(t);
      continue;
    }
    const std::vector<TensorId>& inputs = graph.nodes[size_t(producer)].inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return {live.begin(), live.end()};
}

/// The part of the model between live_ and `outputs`; its inputs are live_[inputs[i]].
ModelIr StagedRun::piece(const std::vector<TensorId>& outputs, std::vector<size_t>& inputs) const {
  ModelIr copy = model_;  // shares the constants
  copy.golden.reset();
  copy.inputs.clear();  // preprocessing is done
  Graph& graph = copy.main();
  std::vector<bool> needed(graph.nodes.size(), false), read(graph.tensors.size(), false);
  std::vector<TensorId> open(outputs);
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    if (t == kNoTensor || read[size_t(t)]) continue;
    read[size_t(t)] = true;
    const int n = producers_[size_t(t)];
    if (n < 0 || std::binary_search(live_.begin(), live_.end(), t)) continue;
    needed[size_t(n)] = true;
    open.insert(open.end(), graph.nodes[size_t(n)].inputs.begin(), graph.nodes[size_t(n)].inputs.end());
  }
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (needed[n]) nodes.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(nodes);
  graph.outputs = outputs;
  graph.inputs.clear();
  for (size_t i = 0; i < live_.size(); ++i) {
    if (!read[size_t(live_[i])]) continue;
    graph.inputs.push_back(live_[i]);
    inputs.push_back(i);
  }
  remove_dead(graph);
  drop_unused_graphs(copy);
  return copy;
}

Status StagedRun::run_piece(ModelIr piece, const std::vector<size_t>& inputs, const Visit& visit,
                            std::vector<std::vector<HostTensor>>& results) {
  std::vector<std::string> names;
  for (TensorId t : piece.main().inputs) names.push_back(piece.main().tensor(t).name);
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Model::create(std::move(piece)));
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status failure;
  const auto work = [&] {
    calibration::WorkerSession session(model, options_.run);
    for (size_t k = next++; k < kept_.size(); k = next++) {
      std::vector<HostTensor> values;
      calibration::WorkerSession::Shapes shapes;
      for (size_t i = 0; i < inputs.size(); ++i) {
        values.push_back(kept_[k].values[inputs[i]]);
        shapes[names[i]] = values.back().shape;
      }
      Status status = session.prepare(shapes);
      if (status.ok()) status = session.run(values);
      if (!status.ok()) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure.ok()) failure = status;
        continue;
      }
      visit(kept_[k].sample, *session.session());
      for (size_t o = 1; o < model->ir().main().outputs.size(); ++o)
        results[k].push_back(output_of(*session.session(), o));
    }
  };
  std::vector<std::thread> workers;
  for (size_t w = 1; w < std::min(size_t(std::max(options_.run.threads, 1)), kept_.size()); ++w)
    workers.emplace_back(work);
  work();
  for (std::thread& t : workers) t.join();
  return failure;
}

Status StagedRun::advance(const Visit& visit) {
  const int stop = stops_[next_++];
  const std::vector<TensorId> live = live_before(stop);
  std::vector<TensorId> outputs{model_.main().nodes[size_t(stop)].outputs[0]};
  for (TensorId t : live) {
    if (!std::binary_search(live_.begin(), live_.end(), t)) outputs.push_back(t);
  }
  std::vector<size_t> inputs;
  std::vector<std::vector<HostTensor>> results(kept_.size());
  LQ_RETURN_IF_ERROR(run_piece(piece(outputs, inputs), inputs, visit, results));
  for (size_t k = 0; k < kept_.size(); ++k) {
    std::vector<HostTensor> values;
    size_t fresh = 0;
    for (TensorId t : live) {
      const auto old = std::lower_bound(live_.begin(), live_.end(), t);
      const bool was_live = old != live_.end() && *old == t;
      HostTensor& value = was_live ? kept_[k].values[size_t(old - live_.begin())] : results[k][fresh++];
      values.push_back(std::move(value));
    }
    kept_[k].values = std::move(values);
  }
  live_ = live;
  give_up_samples();
  return {};
}

void StagedRun::give_up_samples() {
  size_t bytes = 0, fitting = 0;
  for (const Kept& kept : kept_) {
    for (const HostTensor& value : kept.values) bytes += value.data.size();
    if (bytes > most_bytes_) break;
    ++fitting;
  }
  if (kept_.size() > std::max(fitting, kFewestSamples)) kept_.resize(std::max(fitting, kFewestSamples));
}

}  // namespace lq::quantization
