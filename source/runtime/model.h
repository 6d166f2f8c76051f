// Model: an immutable, shared model and its cache of packed weights.
#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "graph/graph.h"
#include "runtime/op.h"

namespace lq {

enum class MemoryMode { kSmall, kDefault, kSpeed };

/// Best ISA of this processor, or the one LIBQUANT_ISA names; an unknown or unsupported name is an error.
Result<Isa> default_isa();
Result<Isa> parse_isa(const std::string& name);
const char* isa_name(Isa isa);

class Model {
 public:
  /// Takes a verified model: float, or with explicit Quantize/Dequantize nodes. Nothing is fused yet.
  static Result<std::shared_ptr<Model>> create(ModelIr ir);
  const ModelIr& ir() const { return ir_; }
  PackCache& packs() const { return *packs_; }

 private:
  Model() = default;
  ModelIr ir_;
  std::unique_ptr<PackCache> packs_;
};

}  // namespace lq
