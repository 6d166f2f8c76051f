// Model: an immutable, shared model and its cache of packed weights.
#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "graph/graph.h"
#include "runtime/op.h"

namespace lq {

/// Best ISA of this processor, or the one LIBQUANT_ISA names; an unknown or unsupported name is an error.
Result<Isa> default_isa();
Result<Isa> parse_isa(const std::string& name);
const char* isa_name(Isa isa);

class Model {
 public:
  /// Takes a model, float or with explicit Quantize/Dequantize nodes, and verifies it. Nothing is fused yet. Tensors without
  /// a name or with a name used twice get one of their own; inputs and outputs of the main graph keep theirs.
  /// `allocator` gives the memory of packed weights and must outlive the model.
  static Result<std::shared_ptr<Model>> create(ModelIr ir, const Allocator& allocator = default_allocator());
  const ModelIr& ir() const { return ir_; }
  PackCache& packs() const { return *packs_; }

 private:
  Model() = default;
  ModelIr ir_;
  std::unique_ptr<PackCache> packs_;
};

}  // namespace lq
