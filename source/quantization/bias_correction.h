// Empirical bias correction: the mean error that quantization puts on each output channel of a product is taken out of
// its int32 bias. (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction",
// section 4.2 and appendix D: empirical variant, layer after layer.) Unlike there, the mean is taken behind a Relu or
// Clip: errors of values that it cuts off are of no consequence, and taking them out too would put one on the others.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "quantization/placement.h"
#include "quantization/tapped_run.h"

namespace lq::quantization {

/// An int8 product of the quantized graph, by the name of its result before any activation; the same in both graphs.
struct CorrectedProduct {
  std::string output;
  size_t channel_from_right = 1;  // the result's channel axis, counted from the right (1 = last)
  ValueRange passed{-std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::infinity()};  // what the activation behind it leaves as it is
};
/// Those that the notes of a placement tell of.
std::vector<CorrectedProduct> products_to_correct(const std::vector<NodeNotes>& notes);

inline constexpr double kLeastGainDb = 0.3;
inline constexpr double kLeastShare = 0.1;

struct BiasCorrectionReport {
  size_t products = 0;                        // whose bias changed
  size_t samples = 0;                         // that each mean is of, at most
  bool kept = true;                           // false: the gain was too small, nothing was changed
  std::optional<double> before_db, after_db;  // output SQNR on the samples; nothing without float outputs
};

/// Walks `products` (in execution order) and makes each one's result, cut off as its activation does, agree with the
/// float model's on average, given all corrections before it: the bias moves by the mean error over the share of the
/// values that move with it (at least kLeastShare: a channel that is nearly always cut off tells little). The error of
/// a channel is measured per sample; only what stands out of its variation between samples is corrected (shrunk by 1 −
/// variance of the mean / mean²), so that few samples do no harm. A bias that would leave the accumulator's bound
/// stays. The whole is kept only if the model's output SQNR on the samples rises by kLeastGainDb: where mean errors
/// hardly matter, corrections would carry the calibration data's peculiarities into the model. The result depends
/// neither on threads nor on the samples' order of completion.
Result<BiasCorrectionReport> correct_biases(const ModelIr& float_model, ModelIr& int8_model,
                                            const std::vector<CorrectedProduct>& products,
                                            const calibration::DataSource& source, const MeasureOptions& options);

}  // namespace lq::quantization
