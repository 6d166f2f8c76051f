// Runs one 3×3 int8 layer, for counting its instructions under emulation (count_instructions.sh).
// Usage: count_layer ISA MAP CHANNELS TILE RUNS: MAP × MAP pixels, CHANNELS in and out; TILE: 0 the direct kernel, 2 or
// 4 Winograd by tiles of that many outputs. Prints the kernel's name and the multiply-adds of the direct sum.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu_features.h"
#include "layer_3x3.h"

namespace lq {
namespace {

int run(Isa isa, const Shape3x3& shape, int m, int runs) {
  Layer layer(shape);
  Packs packs;
  Step step;
  const Status prepared = prepare_layer(layer, isa, m, packs, step);
  if (!prepared.ok()) return std::fprintf(stderr, "count_layer: %s\n", prepared.message().c_str()), 1;
  Buffer scratch = std::move(*Buffer::allocate(align_up(step.scratch_bytes + 1), "scratch"));
  auto pool = std::move(*ThreadPool::create(1));
  void* data[] = {layer.x.data(), nullptr, layer.y.data()};
  const RunContext context{data, scratch.data(), pool.get()};
  for (int i = 0; i < runs; ++i) {
    if (!step.run(step, context).ok()) return 1;
  }
  std::printf("%s macs %lld\n", step.kernel,
              static_cast<long long>(shape.map * shape.map * shape.channels * shape.channels * 9));
  return 0;
}

}  // namespace
}  // namespace lq

int main(int argc, char** argv) {
  if (argc != 6) return std::fputs("Usage: count_layer ISA MAP CHANNELS TILE RUNS\n", stderr), 2;
  for (int i = 0; i < lq::kIsaCount; ++i) {
    if (std::strcmp(lq::isa_name(lq::Isa(i)), argv[1]) != 0 || !lq::is_isa_built(lq::Isa(i)) ||
        !lq::is_isa_supported(lq::Isa(i)))
      continue;
    return lq::run(lq::Isa(i), {std::atoll(argv[2]), std::atoll(argv[3])}, std::atoi(argv[4]), std::atoi(argv[5]));
  }
  return std::fprintf(stderr, "count_layer: no kernels of %s here\n", argv[1]), 2;
}
