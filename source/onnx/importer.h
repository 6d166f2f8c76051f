// ONNX -> ModelIr. Opsets 7 to 22 of the default domain; every spelling of an operator becomes the canonical form of
// schema/model.fbs, so nothing behind the importer knows about opsets. Start reading at import_rows.h.
//
// What the importer decides (docs in README.md): float16, bfloat16 and float64 become float32; Identity and
// inference-mode Dropout disappear; initializers that are also listed as inputs are constants; uint8 quantized tensors
// become int8. Errors start with the file's name and give the node and the reason; unsupported operators are listed all
// at once.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "graph/graph.h"

namespace lq {

/// A value for a graph input that becomes a constant: text ("16000", "1,3,2", "true") parsed to the input's dtype and
/// shape, or a ready tensor with data (floating types are converted to the input's).
struct FixedInput {
  std::string text;
  std::optional<Tensor> tensor;
};

struct ImportOptions {
  std::map<std::string, FixedInput> fixed_inputs;  // --fix-input NAME=VALUE; an unknown name is an error
  Logger logger;                                   // warnings, e.g. int8 weights that had to become float
};

/// External data is looked up beside `path`.
Result<ModelIr> import_onnx(const std::string& path, const ImportOptions& options = {});
/// `name` is what errors call the model; `base_dir` where external data lies (empty: refused).
Result<ModelIr> import_onnx_bytes(const void* data, size_t size, const std::string& name, const std::string& base_dir,
                                  const ImportOptions& options = {});

/// A declared input (no initializer) or output.
struct OnnxValue {
  Tensor tensor;  // name, dtype as imported, shape; dtype Undefined: not a tensor, or of a type we lack
  DType declared = DType::Undefined;  // before float16, bfloat16 and float64 become float32
  bool known_at_planning = false;  // an input whose value decides shapes: to be fixed, or the model cannot be planned
};
struct OnnxOperator {
  std::string domain, op_type;
  int opset = 0;
  bool supported = false;
};
/// What a model asks for, without importing it: its interface, and every operator used (branches too), each once.
struct OnnxSummary {
  std::vector<OnnxValue> inputs, outputs;
  std::vector<OnnxOperator> operators;
};
Result<OnnxSummary> summarize_onnx(const std::string& path);

}  // namespace lq
