// --dump-repro: one operator of a model on its own, with the inputs it gets in the whole: what a bug report needs.
#pragma once
#include <string>
#include <vector>

#include "calibration/data_source.h"
#include "quantization/tapped_run.h"

namespace lq::quantization {

struct Repro {
  ModelIr model;                                              // the operator, its constants, inputs and outputs
  std::vector<std::vector<calibration::HostTensor>> samples;  // each: one tensor an input of `model`
};

/// `node`: the name of an operator of the main graph, or of one of its results. The model runs in float on each sample.
/// Errors: no such operator (with the nearest names), several of that name, If, one whose inputs are all constants.
Result<Repro> cut_out(const ModelIr& model, const std::string& node, const calibration::DataSource& source,
                      const MeasureOptions& options);

}  // namespace lq::quantization
