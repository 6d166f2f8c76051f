#include "runtime/model.h"

#include <set>

#include "runtime/pack_cache.h"

namespace lq {
namespace {

constexpr uint32_t kSemanticsVersion = 1;  // docs/NUMERICS.md

/// Gives every tensor of every graph a name no other tensor has: the pack cache and messages rely on it. An If whose
/// condition is known is later replaced by its branch, so names must differ between graphs as well.
void make_names_unique(ModelIr& ir) {
  std::set<std::string> taken;
  Graph& main = ir.main();
  std::vector<bool> keeps_name(main.tensors.size(), false);
  for (const std::vector<TensorId>* ids : {&main.inputs, &main.outputs}) {
    for (TensorId id : *ids) {
      keeps_name[size_t(id)] = true;
      taken.insert(main.tensor(id).name);
    }
  }
  for (Graph& graph : ir.graphs) {
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      if (&graph == &main && keeps_name[i]) continue;
      std::string& name = graph.tensors[i].name;
      const std::string base = name.empty() ? "tensor" : name;
      for (size_t k = i; name.empty() || !taken.insert(name).second; ++k) {
        name = base + '#' + std::to_string(k);
        if (taken.insert(name).second) break;
      }
    }
  }
}

/// Kernels read constants in place, so their bytes must be aligned to the element; a file's base address may not be.
Status align_constants(ModelIr& ir, const Allocator& allocator) {
  for (Graph& graph : ir.graphs) {
    for (Tensor& tensor : graph.tensors) {
      const size_t element = dtype_size(tensor.dtype);
      if (!tensor.is_constant() || element < 2 || reinterpret_cast<uintptr_t>(tensor.data.data()) % element == 0)
        continue;
      LQ_ASSIGN_OR_RETURN(tensor.data, Bytes::copy_of(tensor.data.data(), tensor.data.size(), allocator));
    }
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Model>> Model::create(ModelIr ir, const Allocator& allocator) {
  LQ_RETURN_IF_ERROR(verify(ir));
  if (ir.arithmetic != schema::ArithmeticMode::FloatRequantize) {
    return unsupported(
        "the model asks for integer requantization, which this version cannot run; convert it again without that mode");
  }
  if (ir.semantics_version != kSemanticsVersion) {
    return unsupported("the model follows version " + std::to_string(ir.semantics_version) +
                       " of the arithmetic, this library knows version 1; use a newer library");
  }
  make_names_unique(ir);
  LQ_RETURN_IF_ERROR(align_constants(ir, allocator));
  std::shared_ptr<Model> model(new Model());
  model->ir_ = std::move(ir);
  model->packs_ = std::make_unique<SharedPackCache>(allocator);
  return model;
}

}  // namespace lq
