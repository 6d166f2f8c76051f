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

/// --precision REGEX=int8|int16|float.
struct PrecisionRule {
  std::string pattern, precision;
};

/// Text options are spelled as on the command line (docs/CLI.md); a wrong value is an error that lists the right ones.
/// Image preprocessing is not here: it is read from ModelIr::inputs, where it also stays for every later tool.
struct QuantizeOptions {
  std::string calibration_dir;                               // samples; needed unless float_only
  size_t max_samples = 0;                                    // evenly spaced over the sorted names; 0: all
  std::map<std::string, std::vector<int64_t>> input_shapes;  // by input name; for free dimensions other than the batch
  std::string method = "auto";                               // kl, minmax, percentile[:P], mse, ema[:D], admm, auto
  std::string activation = "auto";                           // auto, symmetric, asymmetric
  std::string target = "any";                                // any, avx2
  std::string weights = "per-channel";                       // per-channel, per-tensor
  std::string weight_scale = "max";                          // max, mse, admm
  std::string rounding = "auto";                             // auto, nearest, adaround
  std::string bias_correction = "on";                        // on, off: mean errors of products taken out of their bias
  std::string balance = "on";                                // on, off: channels of activations made alike in size
  std::string float_share = "1";                             // percent of multiply-adds that may compute in float where
                                                             // outputs other than class scores are not held
  std::vector<std::string> skip;  // regular expressions of nodes that stay float; one without a match is an error
  std::vector<PrecisionRule> precision;  // in order, a later one overrides an earlier one; skip overrides them all
  std::string plan;                // a file that quantize() wrote as QuantizeReport::plan: its options, precisions and
                                   // ranges replace those above
  bool drop_outliers = false;      // leave out samples that do not belong (QuantizeReport::Warning::is_sample)
  std::optional<double> max_drop;  // operators go back to float until validation loses no more than this: with labels
                                   // top-1 points; without, see QuantizeReport::MixedPrecision
  std::string validation_dir;      // needed with max_drop
  std::string labels_file;         // default: labels.tsv of validation_dir, or its sub-folders
  int64_t label_offset = 0;        // added to every label
  bool float_only = false;         // only the float passes: folded and fused, nothing quantized
  size_t compare_samples = 32;     // calibration samples the int8 model is compared with float on; 0: no comparison
  bool time_operators = false;     // measure QuantizeReport::Node::milliseconds
  int threads = 1;                 // the result never depends on it
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
    std::string precision;                // "int8", "int16", "float", "-": shapes, indices
    std::string reason;                   // why it stayed float; "" for int8
    bool float_output = false;            // integer accumulators, float result
    std::string output;                   // tensor
    std::optional<double> sqnr_db;        // of its result against the float model; clamped to ±200
    std::optional<double> clipped_share;  // of its output's values, on the calibration set
    double range_min = 0, range_max = 0;  // calibrated range of the output, as clipped; 0, 0 without int8 form
    std::optional<double> milliseconds;   // on this machine, one thread; only with QuantizeOptions::time_operators
    std::vector<float> weight_min, weight_max;  // an int8 product: of its float weights, by output channel
  };
  /// Tensors that share quantization parameters.
  struct Tensor {
    std::vector<std::string> names;                               // the first is the one whose values were counted
    double observed_min = 0, observed_max = 0, min = 0, max = 0;  // all values seen; what q covers
    std::string type = "int8";                                    // or int16
    double scale = 1;
    int zero_point = 0, qmin = -128, qmax = 127;
    std::optional<double> clipped_share;
    /// Values seen, in equal bins from -limit to limit; empty when no histogram was made. Values up to 1e-6 are in
    /// `tiny` instead.
    std::vector<uint64_t> histogram;
    double limit = 0;
    uint64_t tiny = 0;
  };
  struct Warning {
    std::string message, advice;
    std::string kind = "model";  // what was found: model, input, not-finite, clipping, dead-channels, coarse-weights,
                                 // weight-spread, dead-activations, degenerate-output, low-sqnr, float-share, and for
                                 // samples not-finite, blank, duplicate, blurred-copy, blurred
    std::string subject = "";  // the sample, tensor or node it is about; "" for the whole
    bool is_sample = false;
    bool taken = false;  // `advice` tells what was done, not what to do
  };
  /// What --max-drop did. The drop is top-1 points with labels; without, for one row of class scores, points of
  /// disagreement with float; otherwise the rms error of the outputs in percent of their rms.
  struct MixedPrecision {
    struct Layer {
      std::string node;
      double macs = 0, isolated_error = 0,
             gain = 0;  // relative error power of the outputs: alone in int8; alone in float
      bool kept_float = false;
    };
    std::string metric;
    double max_drop = 0, drop_before = 0, drop_after = 0;
    double standard_error = 0;   // of drop_after, with labels: the two together were held below max_drop
    double float_mac_share = 0;  // of multiply-adds that went back to float: the price
    size_t samples = 0;
    double one_sample = 0;      // points that one sample is worth; 0 for rms errors
    std::vector<Layer> layers;  // as measured; empty when nothing had to go back
  };

  std::string options;  // describe_options() of what was used, a plan's options included
  std::string plan;  // JSON (docs/PLAN.md): precisions and ranges, to be edited and given back as QuantizeOptions::plan
  size_t samples_used = 0;
  std::map<std::string, std::vector<int64_t>> sample_shapes;  // by input: of the first sample used
  std::vector<SkippedSample> skipped;                         // unreadable samples, in order of name
  std::vector<SkippedSample> ignored;                         // files that are no samples
  size_t int8_nodes = 0, int16_nodes = 0, float_nodes = 0;
  std::map<std::string, std::pair<size_t, size_t>> by_op;  // operator -> nodes in int8 or int16, in float
  std::vector<Node> nodes;                                 // in execution order
  std::vector<Tensor> tensors;
  std::vector<Warning> warnings;  // the findings
  std::optional<MixedPrecision> mixed_precision;
  std::optional<double>
      int8_mac_share;  // of Conv/ConvTranspose/Gemm/MatMul multiply-adds; known once samples were compared
  size_t samples_compared = 0;
  std::optional<double> output_sqnr_db;  // all outputs together
  std::optional<double> top1_agreement;  // share of samples with the same largest entry of the first output
};

/// The options that decide the result, as the file records them: nothing about this machine.
std::string describe_options(const QuantizeOptions& options);

/// On failure `model` is left in an unspecified but valid state. Errors: no or no usable samples, bad options, a skip
/// pattern without a match, a shape that no sample or option decides.
Result<QuantizeReport> quantize(ModelIr& model, const QuantizeOptions& options);

/// Gives the finished model its golden self-test: generated inputs of the shapes in `options`, otherwise of the first
/// sample, and the hash of what this build computes. A model that refuses them keeps none, and a warning in `report`
/// says why. Errors: the model cannot run at all.
Status add_golden(ModelIr& model, const QuantizeOptions& options, QuantizeReport& report);

}  // namespace lq
