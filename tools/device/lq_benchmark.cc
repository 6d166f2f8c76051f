// lq-benchmark as pushed to a device: the runtime alone, .lqm only. The desk's tool (tools/lq_benchmark.cc) measures
// with the same code.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "device/benchmark.h"
#include "format/model_file.h"

namespace {

using namespace lq;

constexpr char kUsage[] =
    "Usage: lq-benchmark [options] MODEL.lqm\n"
    "  --threads N      threads of one inference (default 1)\n"
    "  --iterations N   timed runs (default 50)\n"
    "  --warmup N       runs before (default 5)\n"
    "  --isa NAME       kernels of this instruction set only\n"
    "  --cores WHICH    big, little, a mask such as 0xf0 or a list such as 0-3,6\n"
    "  --memory USE     default, or small: the model file leaves memory once its weights are packed\n"
    "  --pin            each thread on a processor of its own (of --cores), physical cores first\n"
    "  --huge-pages     ask for 2 MB pages for packed weights and the arena\n"
    "  --profile        one row an operator: kernel, ms, share, GMAC/s\n"
    "Prints min, median, p90 and p99 in ms, load and prepare time, memory, and the cores it ran on with their clock.\n";

struct Options {
  tools::BenchmarkOptions benchmark;
  SessionOptions session;
  std::string path;
  bool help = false;
};

Result<int> parse_count(const std::string& option, const char* text, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most)
    return invalid_argument(option + " takes " + std::to_string(least) + " to " + std::to_string(most));
  return int(value);
}

Result<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--help" || arg == "-h") {
      o.help = true;
    } else if (arg == "--profile") {
      o.benchmark.profile = true;
    } else if (arg == "--pin") {
      o.benchmark.pin = true;
    } else if (arg == "--huge-pages") {
      o.benchmark.huge_pages = true;
    } else if (arg == "--threads" && has_value) {
      LQ_ASSIGN_OR_RETURN(o.session.threads, parse_count(arg, argv[++i], 1, 256));
    } else if (arg == "--iterations" && has_value) {
      LQ_ASSIGN_OR_RETURN(o.benchmark.iterations, parse_count(arg, argv[++i], 1, 1000000));
    } else if (arg == "--warmup" && has_value) {
      LQ_ASSIGN_OR_RETURN(o.benchmark.warmup, parse_count(arg, argv[++i], 0, 1000000));
    } else if (arg == "--isa" && has_value) {
      LQ_ASSIGN_OR_RETURN(o.session.isa, parse_isa(argv[++i]));
    } else if (arg == "--memory" && has_value) {
      o.benchmark.memory = argv[++i];
    } else if (arg == "--cores" && has_value) {
      o.benchmark.cores = argv[++i];
    } else if (arg.size() > 1 && arg[0] == '-') {
      return invalid_argument("unknown or incomplete option '" + arg + "'; see lq-benchmark --help");
    } else if (o.path.empty()) {
      o.path = arg;
    } else {
      return invalid_argument("more than one model given; see lq-benchmark --help");
    }
  }
  if (!o.help && o.path.empty()) return invalid_argument("no model given; see lq-benchmark --help");
  return o;
}

int fail(int code, const Status& status) {
  std::fprintf(stderr, "lq-benchmark: %s\n", status.message().c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const Result<Options> o = parse(argc, argv);
  if (!o.ok()) return fail(2, o.status());
  if (o->help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const auto result = tools::run_benchmark(o->benchmark, o->session, o->path, [&] { return read_model_file(o->path); });
  return result.ok() ? 0 : fail(1, result.status());
}
