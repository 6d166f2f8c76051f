// What lq-benchmark measures: the same code in the desk's tool (which also reads ONNX) and in the device's.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace lq::tools {

struct BenchmarkOptions {
  int iterations = 50, warmup = 5;
  std::string cores;  // as parse_cores wants it; empty: all
  std::string memory;  // default or small; empty: default
  bool pin = false;         // each thread to a processor of its own
  bool huge_pages = false;  // for packed weights and the arena
  bool profile = false;
};

struct BenchmarkResult {
  double min = 0, median = 0, p90 = 0, p99 = 0;  // ms of a run
  double load_ms = 0, prepare_ms = 0;
  size_t weight_bytes = 0, arena_bytes = 0, peak_rss_bytes = 0;
  std::string isa, cores;
};

/// Loads by `load`, plans, runs on inputs from a seed, prints the table (fixed form, docs/CLI.md) and gives the
/// figures.
Result<BenchmarkResult> run_benchmark(const BenchmarkOptions& options, SessionOptions session_options,
                                      const std::string& path, const std::function<Result<ModelIr>()>& load);

}  // namespace lq::tools
