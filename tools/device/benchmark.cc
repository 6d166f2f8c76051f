#include "device/benchmark.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/pages.h"
#include "device/cores.h"
#include "device/profile.h"
#include "runtime/golden.h"

namespace lq::tools {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

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

/// Peak resident memory of this process in bytes.
size_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return size_t(usage.ru_maxrss);
#else
  return size_t(usage.ru_maxrss) * 1024;  // Linux counts in KiB
#endif
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

Status measure(const BenchmarkOptions& o, Session& session, BenchmarkResult& r) {
  LQ_RETURN_IF_ERROR(fill_inputs_from_seed(session, 1));
  for (int i = 0; i < o.warmup; ++i) LQ_RETURN_IF_ERROR(session.run());
  std::vector<double> times;
  for (int i = 0; i < o.iterations; ++i) {
    const Clock::time_point start = Clock::now();
    LQ_RETURN_IF_ERROR(session.run());
    times.push_back(milliseconds_since(start));
  }
  std::sort(times.begin(), times.end());
  r.min = times.front(), r.median = percentile(times, 50), r.p90 = percentile(times, 90), r.p99 = percentile(times, 99);
  return {};
}

Result<MemoryUse> parse_memory(const std::string& name) {
  if (name.empty() || name == "default") return MemoryUse::kDefault;
  if (name == "small") return MemoryUse::kSmall;
  return invalid_argument("--memory takes small or default, not '" + name + "'");
}

}  // namespace

Result<BenchmarkResult> run_benchmark(const BenchmarkOptions& o, SessionOptions session_options,
                                      const std::string& path, const std::function<Result<ModelIr>()>& load) {
  if (!o.cores.empty()) {
    LQ_ASSIGN_OR_RETURN(session_options.cores, parse_cores(o.cores));
  }
  LQ_ASSIGN_OR_RETURN(session_options.memory, parse_memory(o.memory));
  session_options.pin = o.pin;
  const Allocator& allocator = o.huge_pages ? huge_page_allocator() : default_allocator();
  session_options.allocator = allocator;
  BenchmarkResult r;
  Clock::time_point start = Clock::now();
  LQ_ASSIGN_OR_RETURN(ModelIr ir, load());
  r.weight_bytes = weight_bytes(ir);
  Result<std::shared_ptr<Model>> model = Model::create(std::move(ir), allocator);
  if (!model.ok()) return model.status().with_context(path);
  r.load_ms = milliseconds_since(start);
  start = Clock::now();
  Result<std::unique_ptr<Session>> session = Session::create(*model, session_options);
  if (!session.ok()) return session.status().with_context(path);
  r.prepare_ms = milliseconds_since(start);
  LQ_RETURN_IF_ERROR(measure(o, **session, r));
  r.cores = describe_cores(session_options.cores);  // at once: clocks fall when the work ends
  r.isa = isa_name((*session)->isa());
  r.arena_bytes = (*session)->arena_bytes(), r.peak_rss_bytes = peak_rss();
  std::printf("latency_ms min %.4f median %.4f p90 %.4f p99 %.4f\n", r.min, r.median, r.p90, r.p99);
  std::printf("load_ms %.2f prepare_ms %.2f\n", r.load_ms, r.prepare_ms);
  std::printf("weight_bytes %zu arena_bytes %zu peak_rss_bytes %zu\n", r.weight_bytes, r.arena_bytes, r.peak_rss_bytes);
  std::printf("isa %s threads %d cores %s\n", r.isa.c_str(), session_options.threads, r.cores.c_str());
  if (o.profile) {
    LQ_ASSIGN_OR_RETURN(const std::vector<StepTime> steps, profile(**session, std::max(1, std::min(o.iterations, 20))));
    print_profile((*session)->steps(), steps);
  }
  return r;
}

}  // namespace lq::tools
