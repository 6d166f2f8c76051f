// lq-benchmark: latency and memory of a model on this machine.
#include <algorithm>
#include <cmath>

#include "model_args.h"
#include "profile.h"
#include "runtime/golden.h"

namespace lq::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  ModelArgs model;
  int threads = 1, iterations = 50, warmup = 5;
  bool profile = false;
  std::string json;
};

double milliseconds_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// Nearest-rank percentile of sorted values.
double percentile(const std::vector<double>& sorted, double p) {
  const size_t rank = size_t(std::max(1.0, std::ceil(p / 100 * double(sorted.size()))));
  return sorted[std::min(rank, sorted.size()) - 1];
}

size_t weight_bytes(const ModelIr& ir) {
  size_t bytes = 0;
  for (const Graph& graph : ir.graphs) {
    for (const Tensor& t : graph.tensors) bytes += t.data.size();
  }
  return bytes;
}

/// Mean time of each step over a few profiled runs.
Result<std::vector<StepTime>> profile(Session& session, int runs) {
  std::vector<StepTime> sum(session.steps().size()), times;
  for (int i = 0; i < runs; ++i) {
    LQ_RETURN_IF_ERROR(session.run_profiled(times));
    for (size_t s = 0; s < sum.size(); ++s) sum[s].milliseconds += times[s].milliseconds / runs;
  }
  return sum;
}

Status run(const Options& o) {
  SessionOptions options;
  options.threads = o.threads;
  LQ_ASSIGN_OR_RETURN(options.isa, o.model.isa());
  LQ_ASSIGN_OR_RETURN(options.input_shapes, o.model.input_shapes());
  if (!o.json.empty()) LQ_RETURN_IF_ERROR(check_writable("--json", o.json));
  auto start = Clock::now();
  LQ_ASSIGN_OR_RETURN(ModelIr ir, o.model.load());
  const size_t weights = weight_bytes(ir);
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, in_file(o.model.path(), Model::create(std::move(ir))));
  const double load_ms = milliseconds_since(start);
  start = Clock::now();
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, in_file(o.model.path(), Session::create(model, options)));
  const double prepare_ms = milliseconds_since(start);
  LQ_RETURN_IF_ERROR(fill_inputs_from_seed(*session, 1));

  for (int i = 0; i < o.warmup; ++i) LQ_RETURN_IF_ERROR(session->run());
  std::vector<double> times;
  for (int i = 0; i < o.iterations; ++i) {
    start = Clock::now();
    LQ_RETURN_IF_ERROR(session->run());
    times.push_back(milliseconds_since(start));
  }
  std::sort(times.begin(), times.end());
  const double min = times.front(), median = percentile(times, 50), p90 = percentile(times, 90), p99 = percentile(times, 99);
  std::printf("latency_ms min %.4f median %.4f p90 %.4f p99 %.4f\n", min, median, p90, p99);
  std::printf("load_ms %.2f prepare_ms %.2f\n", load_ms, prepare_ms);
  std::printf("weight_bytes %zu arena_bytes %zu peak_rss_bytes %zu\n", weights, session->arena_bytes(), peak_rss());
  if (o.profile) {
    LQ_ASSIGN_OR_RETURN(const std::vector<StepTime> steps, profile(*session, std::max(1, std::min(o.iterations, 20))));
    print_profile(session->steps(), steps);
  }
  if (o.json.empty()) return {};
  return write_json(o.json, {{"model", o.model.path()}, {"threads", o.threads}, {"iterations", o.iterations},
                             {"latency_ms", {{"min", min}, {"median", median}, {"p90", p90}, {"p99", p99}}},
                             {"load_ms", load_ms}, {"prepare_ms", prepare_ms}, {"weight_bytes", weights},
                             {"arena_bytes", session->arena_bytes()}, {"peak_rss_bytes", peak_rss()}});
}

}  // namespace
}  // namespace lq::tools

int main(int argc, char** argv) {
  using namespace lq::tools;
  CLI::App app("Latency and memory of a model (.lqm, or .onnx in float) on this machine.");
  Options o;
  o.model.add_model(app, "model file (.lqm or .onnx)");
  app.add_option("--threads", o.threads, "threads of one inference (default 1)")->check(CLI::Range(1, 256));
  app.add_option("--iterations", o.iterations, "timed runs (default 50)")->check(CLI::Range(1, 1000000));
  app.add_option("--warmup", o.warmup, "runs before (default 5)")->check(CLI::Range(0, 1000000));
  app.add_flag("--profile", o.profile, "one row an operator: kernel, ms, share, GMAC/s");
  app.add_option("--json", o.json, "write the results for machines")->type_name("FILE");
  o.model.add_isa(app);
  return run_tool(app, "lq-benchmark", argc, argv, [&] { return run(o); });
}
