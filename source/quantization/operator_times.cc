#include "quantization/operator_times.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/op.h"
#include "runtime/session.h"

namespace lq::quantization {
namespace {

constexpr int kRuns = 5;

/// Shortest time of each step, or nothing if a run fails.
std::vector<double> shortest_times(Session& session) {
  for (size_t i = 0; i < session.input_count(); ++i) {
    const Tensor& t = session.input(i);
    std::memset(session.input_data(i), 0, size_t(std::max<int64_t>(element_count(t.shape), 0)) * dtype_size(t.dtype));
  }
  if (!session.run().ok()) return {};  // warms caches up, too
  std::vector<double> shortest;
  std::vector<StepTime> times;
  for (int run = 0; run < kRuns; ++run) {
    if (!session.run_profiled(times).ok()) return {};
    if (shortest.empty()) shortest.assign(times.size(), 1e30);
    for (size_t s = 0; s < times.size(); ++s) shortest[s] = std::min(shortest[s], times[s].milliseconds);
  }
  return shortest;
}

}  // namespace

void time_operators(const ModelIr& model, QuantizeReport& report) {
  auto shared = Model::create(model);
  if (!shared.ok()) return;
  SessionOptions options;
  options.input_shapes = report.sample_shapes;
  auto session = Session::create(std::move(*shared), options);
  if (!session.ok()) return;
  const std::vector<double> times = shortest_times(**session);
  std::map<std::string, std::pair<size_t, double>> by_name;  // steps of that name, their time
  for (size_t s = 0; s < times.size(); ++s) {
    auto& entry = by_name[(*session)->steps()[s].node_name];
    ++entry.first, entry.second += times[s];
  }
  std::map<std::string, size_t> uses;
  for (const QuantizeReport::Node& node : report.nodes) ++uses[node.name];
  for (QuantizeReport::Node& node : report.nodes) {
    const auto found = by_name.find(node.name);
    if (node.name.empty() || found == by_name.end() || found->second.first != 1 || uses[node.name] != 1) continue;
    node.milliseconds = found->second.second;
  }
}

}  // namespace lq::quantization
