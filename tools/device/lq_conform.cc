// lq-conform: does this processor compute the bits that were validated? Runs the golden self-test of .lqm files with
// every kernel family the processor has and prints one line for each. Standard C++ and the runtime only: push it to a
// device.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "format/model_file.h"
#include "kernels/cpu_features.h"
#include "runtime/golden.h"

namespace lq {
namespace {

namespace fs = std::filesystem;

constexpr char kUsage[] =
    "Usage: lq-conform [--isa NAME] [--threads N] [--verbose] FILE.lqm|FOLDER...\n"
    "Runs the golden self-test of every model (a folder: all .lqm files below it) on every kernel family this\n"
    "processor has, or on the named one (default: what runs where none is named), with 1 and N threads (default 2).\n"
    "Prints 'isa NAME: N passed, N failed'.\n"
    "Exit code 1 if one failed or nothing was run.\n";

struct Options {
  std::vector<std::string> paths;
  std::vector<Isa> isas;
  int threads = 2;
  bool verbose = false, help = false;
};

Result<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--help" || arg == "-h") {
      o.help = true;
    } else if (arg == "--verbose") {
      o.verbose = true;
    } else if (arg == "--isa" && has_value) {
      const std::string name = argv[++i];
      LQ_ASSIGN_OR_RETURN(const Isa isa, name == "default" ? default_isa() : parse_isa(name));
      o.isas.push_back(isa);
    } else if (arg == "--threads" && has_value) {
      o.threads = std::atoi(argv[++i]);
      if (o.threads < 1 || o.threads > 256) return invalid_argument("--threads takes 1 to 256");
    } else if (arg.size() > 1 && arg[0] == '-') {
      return invalid_argument("unknown or incomplete option '" + arg + "'; see lq-conform --help");
    } else {
      o.paths.push_back(arg);
    }
  }
  if (!o.help && o.paths.empty()) return invalid_argument("no model or folder given; see lq-conform --help");
  const bool all = o.isas.empty();
  for (int i = 0; all && i < kIsaCount; ++i) {
    if (is_isa_built(Isa(i)) && is_isa_supported(Isa(i))) o.isas.push_back(Isa(i));
  }
  return o;
}

/// The .lqm files of all paths, sorted.
Result<std::vector<std::string>> find_models(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    fs::recursive_directory_iterator it(path, error), end;
    for (; !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".lqm") files.push_back(it->path().string());
    }
    if (error) return invalid_argument(path + ": " + error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Count {
  int passed = 0, failed = 0, without = 0;
};

Status check_on(const std::shared_ptr<const Model>& model, Isa isa, int threads) {
  SessionOptions options;
  options.isa = isa;
  for (const int n : {1, threads}) {
    options.threads = n;
    LQ_RETURN_IF_ERROR(check_golden(model, options));
  }
  return {};
}

int run(const Options& o) {
  Result<std::vector<std::string>> files = find_models(o.paths);
  if (!files.ok()) {
    std::fprintf(stderr, "lq-conform: %s\n", files.status().message().c_str());
    return 2;
  }
  std::vector<Count> counts(o.isas.size());
  for (const std::string& file : *files) {
    Result<ModelIr> ir = read_model_file(file);
    Result<std::shared_ptr<Model>> model =
        ir.ok() ? Model::create(std::move(*ir)) : Result<std::shared_ptr<Model>>(ir.status());
    for (size_t i = 0; i < o.isas.size(); ++i) {
      const Status status = model.ok() ? check_on(*model, o.isas[i], o.threads) : model.status();
      if (model.ok() && status.code() == StatusCode::kNotFound) {
        ++counts[i].without;
      } else if (status.ok()) {
        ++counts[i].passed;
      } else {
        ++counts[i].failed;
        std::printf("FAILED %s on %s: %s\n", file.c_str(), isa_name(o.isas[i]), status.message().c_str());
      }
      if (o.verbose && status.ok()) std::printf("passed %s on %s\n", file.c_str(), isa_name(o.isas[i]));
    }
  }
  bool good = true;
  for (size_t i = 0; i < o.isas.size(); ++i) {
    const Count& c = counts[i];
    std::printf("isa %s: %d passed, %d failed", isa_name(o.isas[i]), c.passed, c.failed);
    if (c.without > 0) std::printf(", %d without a self-test", c.without);
    std::printf("\n");
    good = good && c.failed == 0 && c.passed > 0;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace lq

int main(int argc, char** argv) {
  lq::Result<lq::Options> options = lq::parse(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "lq-conform: %s\n", options.status().message().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(lq::kUsage, stdout);
    return 0;
  }
  return lq::run(*options);
}
