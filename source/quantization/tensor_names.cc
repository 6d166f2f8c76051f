#include "quantization/tensor_names.h"

#include <set>
#include <string>
#include <vector>

namespace lq::quantization {

void make_names_unique(Graph& graph) {
  std::set<std::string> used;
  std::vector<bool> done(graph.tensors.size(), false);
  const auto claim = [&](TensorId id) {
    if (id == kNoTensor || done[size_t(id)]) return;
    done[size_t(id)] = true;
    Tensor& t = graph.tensor(id);
    const std::string base = t.name.empty() ? "tensor" : t.name;
    std::string name = base;
    for (int i = 2; !used.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    t.name = std::move(name);
  };
  for (TensorId id : graph.inputs) claim(id);
  for (TensorId id : graph.outputs) claim(id);
  for (size_t id = 0; id < graph.tensors.size(); ++id) claim(TensorId(id));
}

}  // namespace lq::quantization
