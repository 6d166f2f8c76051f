// Real models as the conformance test takes them: where the file is, what to calibrate with, how much of it must be int8.
#pragma once
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lq::conformance {

/// Folders: "example/" is the repository's examples/, "pack/" the shared pack (which may be absent).
struct ModelCase {
  std::string name;    // of the test
  std::string model;   // "example/mnist/mnist.onnx", "pack/models/x.onnx"
  std::string images;  // calibration folder; "": the pack's reference inputs, or noise where it has none
  std::vector<std::pair<std::string, std::string>> preprocessing;  // options of the quantize tool, in order
  std::map<std::string, Shape> shapes;  // of inputs with free dimensions
  bool classifier = false;              // int8_mac_share must be 0.99
  std::map<std::string, std::string> fixed = {};  // inputs made constant
  bool batches = false;                      // the first output has one row a sample
  bool golden = true;                        // the golden test's integers (0…9) are legal inputs
  bool for_avx2 = false;                     // quantized for target avx2: one-sided activations keep to 0…127
};

inline void PrintTo(const ModelCase& c, std::ostream* out) { *out << c.model; }  // for GoogleTest

std::vector<ModelCase> model_cases();

}  // namespace lq::conformance
