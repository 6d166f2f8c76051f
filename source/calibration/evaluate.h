// Accuracy of a model on samples, and agreement of two models on the same samples.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "calibration/collector.h"

namespace lq::calibration {

struct Evaluation {
  size_t used = 0;                     // samples that ran
  size_t top1 = 0, top5 = 0;           // right ones among the labelled
  size_t labelled = 0;
  std::set<std::string> right;         // names of the top1 ones
  std::vector<SkippedSample> skipped;
};

/// Class scores are the first output, flattened; ties take the smaller index. `labels`: class index by sample name (as the
/// source names it) plus label_offset. A label that is no class of the output is an error.
Result<Evaluation> evaluate(std::shared_ptr<const Model> model, const DataSource& source,
                            const std::map<std::string, int64_t>& labels, int64_t label_offset, const CollectorOptions& options);

/// How far a model is from a reference on the same inputs, over all float outputs. Sums are joined in sample order, so the
/// figures do not depend on the thread count.
struct Comparison {
  size_t used = 0;
  size_t agree = 0;                    // same top-1 of the first output
  double reference_power = 0;          // Σ reference²
  double error_power = 0;              // Σ (model − reference)²
  double model_power = 0, product = 0; // for the cosine
  double kl = 0;                       // Σ KL(softmax(reference) ‖ softmax(model)) of the first output, nats
  std::vector<SkippedSample> skipped;
  double agreement() const { return used == 0 ? 0 : double(agree) / double(used); }
  double sqnr_db() const;              // +inf when equal
  double cosine() const;
  double mean_kl() const { return used == 0 ? 0 : kl / double(used); }
};
Result<Comparison> compare(std::shared_ptr<const Model> model, std::shared_ptr<const Model> reference, const DataSource& source,
                           const CollectorOptions& options);

}  // namespace lq::calibration
