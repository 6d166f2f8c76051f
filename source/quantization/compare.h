// Runs the float and the quantized model side by side over samples and measures how far they are apart.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/collector.h"

namespace lq::quantization {

struct ComparedTensor {
  std::string float_name, int8_name;  // float32 tensors of the two main graphs
};

struct Comparison {
  size_t samples = 0;
  std::vector<std::optional<double>> sqnr_db;  // one a pair; nothing for a tensor that was always zero and stayed so
  std::optional<double> output_sqnr_db;        // over all float outputs of all samples
  size_t not_finite = 0;                       // samples with NaN or Inf in the float model's outputs
  bool same_outputs = false;                   // the float model gave every sample the same outputs, bit by bit
  size_t float_classes = 0;  // different top-1 of the float model; 0 when its only output is no row of class scores
  std::optional<double> top1_agreement;  // first float output with more than one element
  double int8_mac_share = 1;
};

/// 10·log10(Σ x² / Σ (x − y)²), clamped to ±200 (200 when equal); nothing if both sums are 0.
std::optional<double> sqnr_db(double signal, double noise);

/// Sums are kept per sample and added in sample order: the numbers do not depend on the thread count.
Result<Comparison> compare_models(const ModelIr& float_model, const ModelIr& int8_model,
                                  const std::vector<ComparedTensor>& pairs, const calibration::DataSource& source,
                                  const calibration::CollectorOptions& options);

}  // namespace lq::quantization
