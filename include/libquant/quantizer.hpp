// The toolchain's API: a float model in, the same model with explicit Quantize/Dequantize, int8 weights and int32 bias
// out. Desk only. Needs the source tree (source/) in the include path; C++17.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace lq {

struct ModelIr;

/// Text options are spelled as on the command line (docs/CLI.md); a wrong value is an error that lists the right ones.
/// Image preprocessing is not here: it is read from ModelIr::inputs, where it also stays for every later tool.
struct QuantizeOptions {
  std::string calibration_dir;                               // samples; needed unless float_only
  size_t max_samples = 0;                                    // evenly spaced over the sorted names; 0: all
  std::map<std::string, std::vector<int64_t>> input_shapes;  // by input name; for free dimensions other than the batch
  std::string method = "kl";                                 // kl, minmax, percentile[:P], mse
  std::string activation = "auto";                           // auto, symmetric, asymmetric
  std::string target = "any";                                // any, avx2
  std::string weights = "per-channel";                       // per-channel, per-tensor
  std::vector<std::string> skip;  // regular expressions of nodes that stay float; one without a match is an error
  bool float_only = false;        // only the float passes: folded and fused, nothing quantized
  size_t compare_samples = 32;    // calibration samples the int8 model is compared with float on; 0: no comparison
  int threads = 1;                // the result never depends on it
  std::function<void(const char* stage, size_t done, size_t total)>
      progress;                                      // from worker threads, one call at a time
  std::function<void(const std::string& line)> log;  // what --verbose prints
};

struct QuantizeReport {
  struct SkippedSample {
    std::string name, reason;
  };
  struct Node {
    std::string name, op;
    std::string precision;                // "int8", "float", "-" for shapes and indices
    std::string reason;                   // why it stayed float; "" for int8
    bool float_output = false;            // integer accumulators, float result
    std::string output;                   // tensor
    std::optional<double> sqnr_db;        // of its result against the float model; clamped to ±200
    std::optional<double> clipped_share;  // of its output's values, on the calibration set
    double range_min = 0, range_max = 0;  // calibrated range of the output, as clipped; 0, 0 without int8 form
  };
  struct Warning {
    std::string message, advice;
  };

  size_t samples_used = 0;
  std::map<std::string, std::vector<int64_t>> sample_shapes;  // by input: of the first sample used
  std::vector<SkippedSample> skipped;                         // unreadable samples, in order of name
  std::vector<SkippedSample> ignored;                         // files that are no samples
  size_t int8_nodes = 0, float_nodes = 0;
  std::map<std::string, std::pair<size_t, size_t>> by_op;  // operator -> nodes in int8, in float
  std::vector<Node> nodes;                                 // in execution order
  std::vector<Warning> warnings;
  std::optional<double>
      int8_mac_share;  // of Conv/ConvTranspose/Gemm/MatMul multiply-adds; known once samples were compared
  size_t samples_compared = 0;
  std::optional<double> output_sqnr_db;  // all outputs together
  std::optional<double> top1_agreement;  // share of samples with the same largest entry of the first output
};

/// On failure `model` is left in an unspecified but valid state. Errors: no or no usable samples, bad options, a skip
/// pattern without a match, a shape that no sample or option decides.
Result<QuantizeReport> quantize(ModelIr& model, const QuantizeOptions& options);

/// Gives the finished model its golden self-test: generated inputs of the shapes in `options`, otherwise of the first
/// sample, and the hash of what this build computes. A model that refuses them keeps none, and a warning in `report`
/// says why. Errors: the model cannot run at all.
Status add_golden(ModelIr& model, const QuantizeOptions& options, QuantizeReport& report);

}  // namespace lq
