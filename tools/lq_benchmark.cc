// lq-benchmark: latency and memory of a model on this machine. What it measures is in device/benchmark.cc.
#include "device/benchmark.h"
#include "model_args.h"

namespace lq::tools {
namespace {

struct Options {
  ModelArgs model;
  BenchmarkOptions benchmark;
  int threads = 1;
  std::string json;
};

Status run(const Options& o) {
  SessionOptions options;
  options.threads = o.threads;
  LQ_ASSIGN_OR_RETURN(options.isa, o.model.isa());
  LQ_ASSIGN_OR_RETURN(options.input_shapes, o.model.input_shapes());
  if (!o.json.empty()) LQ_RETURN_IF_ERROR(check_writable("--json", o.json));
  LQ_ASSIGN_OR_RETURN(const BenchmarkResult r,
                      run_benchmark(o.benchmark, options, o.model.path(), [&] { return o.model.load(); }));
  if (o.json.empty()) return {};
  return write_json(o.json, {{"model", o.model.path()}, {"threads", o.threads}, {"iterations", o.benchmark.iterations},
                             {"latency_ms", {{"min", r.min}, {"median", r.median}, {"p90", r.p90}, {"p99", r.p99}}},
                             {"load_ms", r.load_ms}, {"prepare_ms", r.prepare_ms}, {"weight_bytes", r.weight_bytes},
                             {"arena_bytes", r.arena_bytes}, {"peak_rss_bytes", r.peak_rss_bytes}, {"isa", r.isa}, {"cores", r.cores}});
}

}  // namespace
}  // namespace lq::tools

int main(int argc, char** argv) {
  using namespace lq::tools;
  CLI::App app("Latency and memory of a model (.lqm, or .onnx in float) on this machine.");
  Options o;
  o.model.add_model(app, "model file (.lqm or .onnx)");
  app.add_option("--threads", o.threads, "threads of one inference (default 1)")->check(CLI::Range(1, 256));
  app.add_option("--iterations", o.benchmark.iterations, "timed runs (default 50)")->check(CLI::Range(1, 1000000));
  app.add_option("--warmup", o.benchmark.warmup, "runs before (default 5)")->check(CLI::Range(0, 1000000));
  app.add_option("--cores", o.benchmark.cores, "run on these cores: big, little, a mask such as 0xf0 or a list such as 0-3,6")
      ->type_name("WHICH");
  app.add_option("--memory", o.benchmark.memory, "default, or small: the model file leaves memory once its weights are packed")
      ->type_name("USE")
      ->check(CLI::IsMember({"small", "default"}));
  app.add_flag("--pin", o.benchmark.pin, "each thread on a processor of its own (of --cores), physical cores first");
  app.add_flag("--huge-pages", o.benchmark.huge_pages, "ask for 2 MB pages for packed weights and the arena");
  app.add_flag("--profile", o.benchmark.profile, "one row an operator: kernel, ms, share, GMAC/s");
  app.add_option("--json", o.json, "write the results for machines")->type_name("FILE");
  o.model.add_isa(app);
  return run_tool(app, "lq-benchmark", argc, argv, [&] { return run(o); });
}
