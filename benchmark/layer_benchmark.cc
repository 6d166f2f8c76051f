// 3×3 int8 layers of stride 1 through prepare and run, transforms, padding and requantization included: the direct
// kernel, F(2×2, 3×3) and F(4×4, 3×3) of every instruction set. items_per_second counts the multiply-adds of the direct
// sum, so Winograd's are effective ones.
#include "layer_benchmark.h"

#include <benchmark/benchmark.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu_features.h"
#include "numerics/quantize.h"
#include "runtime/model.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/conv_winograd.h"

namespace {

using namespace lq;

class Packs : public PackCache {
 public:
  Result<const void*> get(const std::string& key, size_t bytes, const std::function<void(void*)>& fill) override {
    LQ_ASSIGN_OR_RETURN(packs_[key], Buffer::allocate(align_up(bytes + 1), "packed weights"));
    fill(packs_[key].data());
    return static_cast<const void*>(packs_[key].data());
  }

 private:
  std::map<std::string, Buffer> packs_;
};

/// map × map pixels, `channels` in and out, padded by 1.
struct Shape3x3 {
  int64_t map, channels;
};

/// A model of one Conv, tensors blocked as the layout pass has them.
struct Layer {
  ModelIr model;
  Node node;
  std::vector<int8_t> x, y;

  explicit Layer(const Shape3x3& s) : x(size_t(s.map * s.map * s.channels)), y(x.size()) {
    model.graphs.emplace_back();
    Graph& graph = model.main();
    std::mt19937 random(1);
    for (int8_t& v : x) v = int8_t(random() % 255 - 127);
    std::vector<int8_t> w(size_t(s.channels * s.channels * 9));
    for (int8_t& v : w) v = int8_t(random() % 255 - 127);
    node.op = Op::Conv;
    auto& attrs = mutable_attrs<schema::ConvAttrsT>(node);
    attrs.kernel_shape = {3, 3}, attrs.strides = {1, 1}, attrs.dilations = {1, 1}, attrs.groups = 1;
    attrs.pads = {1, 1, 1, 1};
    const Shape map{1, s.channels, s.map, s.map};
    const TensorId in = add(map);
    const TensorId weights = graph.add_constant("w", DType::Int8, {s.channels, s.channels, 3, 3}, w.data());
    graph.tensor(weights).quant = per_channel_weights({0.01f}, 0);
    node.inputs = {in, weights};
    node.outputs = {add(map)};
  }

 private:
  TensorId add(const Shape& shape) {
    Tensor t;
    t.name = "t" + std::to_string(model.main().tensors.size());
    t.dtype = DType::Int8;
    t.ranked = true;
    t.shape = shape;
    t.blocked_axis = 1;
    t.quant = per_tensor_params(DType::Int8, 0.05f, 0);
    return model.main().add_tensor(std::move(t));
  }
};

/// m: tiles of m × m outputs by Winograd, 0: the direct kernel.
void run_layer(benchmark::State& state, Isa isa, const Shape3x3& size, int m) {
  Layer layer(size);
  Packs packs;
  Step step;
  step.inputs = layer.node.inputs, step.outputs = layer.node.outputs;
  OpPrepare p(layer.model, layer.model.main(), layer.node, isa, 1, packs, step);
  const Result<ConvShape> shape = conv_shape(p, false);
  const Status prepared = !shape.ok() ? shape.status()
                          : m == 0    ? prepare_conv_panels(p, *shape, conv_phases(*shape), false, true)
                                      : prepare_winograd_tile(p, *shape, m);
  if (!prepared.ok()) return state.SkipWithError(prepared.message().c_str());
  Buffer scratch = std::move(*Buffer::allocate(align_up(step.scratch_bytes + 1), "scratch"));
  auto pool = std::move(*ThreadPool::create(1));
  std::vector<void*> data{layer.x.data(), nullptr, layer.y.data()};
  const RunContext context{data.data(), scratch.data(), pool.get()};
  state.SetLabel(step.kernel);
  for (auto _ : state) {
    if (!step.run(step, context).ok()) return state.SkipWithError("run failed");
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * size.map * size.map * size.channels * size.channels * 9);
}

}  // namespace

void register_layers() {
  for (int i = 1; i < kIsaCount; ++i) {
    const Isa isa = Isa(i);
    if (!is_isa_built(isa) || !is_isa_supported(isa)) continue;
    for (const Shape3x3 size : {Shape3x3{56, 64}, {28, 128}, {14, 256}, {7, 512}, {112, 16}}) {
      for (const int m : {0, 2, 4}) {
        const std::string name = std::string("layer_3x3/") + isa_name(isa) + "/" + std::to_string(size.map) + "x" +
                                 std::to_string(size.map) + "x" + std::to_string(size.channels) +
                                 (m == 0   ? "/direct"
                                  : m == 2 ? "/F23"
                                           : "/F43");
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { run_layer(s, isa, size, m); });
      }
    }
  }
}
