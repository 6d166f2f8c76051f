// 3×3 int8 layers of stride 1 through prepare and run, transforms, padding and requantization included: the direct
// kernel, F(2×2, 3×3) and F(4×4, 3×3) of every instruction set. items_per_second counts the multiply-adds of the direct
// sum, so Winograd's are effective ones.
#include "layer_benchmark.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu_features.h"
#include "layer_3x3.h"

namespace {

using namespace lq;

/// m: tiles of m × m outputs by Winograd, 0: the direct kernel.
void run_layer(benchmark::State& state, Isa isa, const Shape3x3& size, int m) {
  Layer layer(size);
  Packs packs;
  Step step;
  const Status prepared = prepare_layer(layer, isa, m, packs, step);
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
