// Speed of every product kernel of this build that this processor can run: 1×1 and 3×3 panels and depthwise layers,
// from first-level cache sized inputs, requantization included; and whole 3×3 layers, direct and by Winograd
// (layer_benchmark.cc). Prints GMAC/s (items_per_second) under the kernel's own
// name. Usage: kernel_benchmark [--benchmark_filter=avx512] (Google Benchmark's options)
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/conv_kernels.h"
#include "kernels/cpu_features.h"
#include "kernels/registry.h"
#include "layer_benchmark.h"

namespace {

using namespace lq;

std::vector<uint8_t> random_bytes(size_t count) {
  std::vector<uint8_t> v(count);
  uint32_t state = 12345;
  for (uint8_t& b : v) {
    state = state * 1664525u + 1013904223u;
    b = uint8_t((state >> 24) % 255 + 1);  // as int8: −127 … 127
    if (b == 128) b = 127;
  }
  return v;
}

std::vector<float> random_floats(size_t count) {
  std::vector<float> v(count);
  const std::vector<uint8_t> bytes = random_bytes(count);
  for (size_t i = 0; i < count; ++i) v[i] = float(int8_t(bytes[i])) / 128;
  return v;
}

/// A whole panel: `blocks` · 8 input channels, taps side² of them, a map of map × map outputs.
struct Panel {
  int blocks, side, map;
};

PanelGeometry geometry_of(const Panel& p, int width, std::vector<ptrdiff_t>& taps, void* y) {
  const ptrdiff_t line = (p.map + p.side - 1) * kBlock;
  for (int t = 0; t < p.side * p.side; ++t) taps.push_back(t / p.side * line + t % p.side * kBlock);
  PanelGeometry g{};
  g.x_block = line * (p.map + p.side - 1), g.x_row = line, g.x_col = kBlock;
  g.tap = taps.data(), g.taps = int32_t(taps.size());
  g.blocks = p.blocks, g.width = g.lanes = width, g.rows = g.cols = p.map;
  g.y = y, g.y_row = ptrdiff_t(p.map) * kBlock, g.y_col = kBlock, g.y_block = g.y_row * p.map, g.y_blocked = true;
  return g;
}

Epilogue epilogue_of(const std::vector<int32_t>& bias, const std::vector<float>& multiplier) {
  Epilogue e{};
  e.struct_size = sizeof(e);
  e.bias = bias.data(), e.multiplier = multiplier.data();
  e.low = -128, e.high = 127;
  return e;
}

template <typename Args, typename X, typename W>
void integer_panel(benchmark::State& state, const KernelRow& row, const Panel& p) {
  const int width = row.panel_width, channels = p.blocks * kBlock, taps = p.side * p.side;
  const size_t pixels = size_t(p.map + p.side - 1) * size_t(p.map + p.side - 1);
  const std::vector<uint8_t> xb = random_bytes(pixels * size_t(channels)),
                             wb = random_bytes(size_t(channels * taps * width));
  const std::vector<X> x(xb.begin(), xb.end());
  std::vector<W> w(wb.size());
  for (size_t i = 0; i < wb.size(); ++i) w[i] = W(int8_t(wb[i]));
  const std::vector<int32_t> bias(size_t(width), 100);
  const std::vector<float> multiplier(size_t(width), 1e-4f);
  std::vector<int8_t> y(size_t(p.map * p.map * width));
  std::vector<ptrdiff_t> offsets;
  const PanelGeometry g = geometry_of(p, width, offsets, y.data());
  const Args args{g, x.data(), w.data(), epilogue_of(bias, multiplier)};
  for (auto _ : state) {
    reinterpret_cast<void (*)(const Args&)>(row.fn)(args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * int64_t(p.map) * p.map * width * channels * taps);
}

/// Steps of one kind: 0 twice, 1 once, 2 pairs. Weights are small enough for each.
void step_panel(benchmark::State& state, const KernelRow& row, const Panel& p, int kind) {
  const int width = row.panel_width, channels = p.blocks * kBlock, taps = p.side * p.side, steps = p.blocks * taps;
  const size_t pixels = size_t(p.map + p.side - 1) * size_t(p.map + p.side - 1);
  std::vector<uint8_t> x = random_bytes(pixels * size_t(channels)), wb = random_bytes(size_t(channels * taps * width));
  for (uint8_t& b : x) b &= 127;
  std::vector<int8_t> w(wb.size());
  for (size_t i = 0; i < w.size(); ++i) w[i] = int8_t(int8_t(wb[i]) / 4);
  const std::vector<int32_t> bias(size_t(width), 100);
  const std::vector<float> multiplier(size_t(width), 1e-4f);
  std::vector<int8_t> y(size_t(p.map * p.map * width));
  std::vector<ptrdiff_t> offsets;
  const PanelGeometry g = geometry_of(p, width, offsets, y.data());
  std::vector<int32_t> at;
  for (int b = 0; b < p.blocks; ++b) {
    for (ptrdiff_t tap : offsets) at.push_back(int32_t(b * g.x_block + tap));
  }
  const int twice = kind == 0 ? steps / 2 * 2 : 0, pairs = kind == 2 ? steps : 0;
  const ConvStepsArgs args{
      g, x.data(), w.data(), epilogue_of(bias, multiplier), at.data(), twice, steps - twice - pairs, pairs};
  for (auto _ : state) {
    reinterpret_cast<ConvStepsFn>(row.fn)(args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * int64_t(p.map) * p.map * width * channels * taps);
}

/// One block of a depthwise layer, side × side taps in `groups` groups as even as possible, from a padded strip.
void depthwise_taps(benchmark::State& state, const KernelRow& row, int side, int map, int groups) {
  const int taps = side * side, pairs = std::max(groups, (taps + 1) / 2), line = map + side - 1;
  std::vector<uint8_t> x = random_bytes(size_t(line * line + 16) * kBlock), wb = random_bytes(size_t(pairs) * 16);
  for (uint8_t& b : x) b &= 127;
  std::vector<int8_t> w(wb.size());
  for (size_t i = 0; i < w.size(); ++i) w[i] = int8_t(int8_t(wb[i]) / 8);
  std::vector<int32_t> at;
  for (int t = 0; t < 2 * pairs; ++t) at.push_back((t % taps / side * line + t % taps % side) * kBlock);
  std::vector<int16_t> group(size_t(groups), 0);
  for (int p = 0; p < pairs; ++p) ++group[size_t(p % groups)];
  const std::vector<int16_t> start(size_t(groups) * kBlock, 0);
  const std::vector<int32_t> bias(kBlock, 100);
  const std::vector<float> multiplier(kBlock, 1e-3f);
  std::vector<int8_t> y(size_t(map * map) * kBlock);
  PanelGeometry g{};
  g.x_row = ptrdiff_t(line) * kBlock, g.x_col = kBlock, g.width = g.lanes = kBlock, g.rows = g.cols = map;
  g.y = y.data(), g.y_row = ptrdiff_t(map) * kBlock, g.y_col = kBlock, g.y_blocked = true;
  const DepthwiseTapsArgs args{g,         x.data(),     w.data(),     epilogue_of(bias, multiplier),
                               at.data(), group.data(), start.data(), groups};
  for (auto _ : state) {
    reinterpret_cast<DepthwiseTapsFn>(row.fn)(args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * int64_t(map) * map * kBlock * taps);
}

void float_panel(benchmark::State& state, const KernelRow& row, const Panel& p) {
  const int width = row.panel_width, channels = p.blocks * kBlock, taps = p.side * p.side;
  const size_t pixels = size_t(p.map + p.side - 1) * size_t(p.map + p.side - 1);
  const std::vector<float> x = random_floats(pixels * size_t(channels)),
                           w = random_floats(size_t(channels * taps * width)), start = random_floats(size_t(width));
  std::vector<float> y(size_t(p.map * p.map * width));
  std::vector<ptrdiff_t> offsets;
  const PanelGeometry g = geometry_of(p, width, offsets, y.data());
  const ConvF32Args args{g, x.data(), w.data(), start.data(), 0, 0, {}};
  for (auto _ : state) {
    reinterpret_cast<ConvF32Fn>(row.fn)(args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * int64_t(p.map) * p.map * width * channels * taps);
}

/// One block of a 3×3 or 5×5 depthwise layer, padded, stride 1.
void depthwise_bytes(benchmark::State& state, const KernelRow& row, int side, int map) {
  const std::vector<uint8_t> x = random_bytes(size_t(map) * size_t(map) * kBlock),
                             w = random_bytes(size_t((side + 3) / 4 * side * 32));
  const std::vector<int32_t> bias(kBlock, 100);
  const std::vector<float> multiplier(kBlock, 1e-3f);
  std::vector<int8_t> y(x.size());
  std::vector<uint8_t> quads(size_t(depthwise_scratch(depthwise_span(map, 1, side, 1), side, side)));
  DepthwiseByteArgs a{};
  a.x = reinterpret_cast<const int8_t*>(x.data()), a.w = reinterpret_cast<const int8_t*>(w.data());
  a.in_h = a.in_w = a.rows = a.cols = map, a.first_row = a.first_col = -(side / 2);
  a.taps_h = a.taps_w = side, a.dilation_h = a.dilation_w = a.stride_h = a.stride_w = 1, a.lanes = kBlock;
  a.y = y.data(), a.y_row = ptrdiff_t(map) * kBlock, a.quads = quads.data(), a.epilogue = epilogue_of(bias, multiplier);
  for (auto _ : state) {
    reinterpret_cast<DepthwiseByteFn>(row.fn)(a);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * int64_t(map) * map * kBlock * side * side);
}

template <typename F>
void add(const KernelRow& row, const std::string& shape, F&& run) {
  benchmark::RegisterBenchmark((std::string(row.name) + '/' + shape).c_str(), std::forward<F>(run));
}

void register_row(const KernelRow& row) {
  const std::string family = row.family;
  if (family.rfind("depthwise_u8", 0) == 0 || family.rfind("depthwise_s8x4", 0) == 0) {
    for (const int side : {3, 5}) {
      add(row, std::to_string(side) + "x" + std::to_string(side) + "_28x28",
          [&row, side](benchmark::State& s) { depthwise_bytes(s, row, side, 28); });
    }
  }
  if (family == "depthwise_taps_u8") {
    for (const auto& [side, groups] : {std::pair{3, 2}, {3, 3}, {3, 5}, {5, 4}, {5, 7}}) {
      add(row, std::to_string(side) + "x" + std::to_string(side) + "_28x28_groups" + std::to_string(groups),
          [&row, side = side, groups = groups](benchmark::State& s) { depthwise_taps(s, row, side, 28, groups); });
    }
  }
  if (family.rfind("conv_", 0) != 0) return;
  for (const Panel p : {Panel{8, 1, 14}, Panel{32, 1, 14}, Panel{128, 1, 7}, Panel{8, 3, 14}}) {
    const std::string shape = std::to_string(p.side) + "x" + std::to_string(p.side) + "_k" +
                              std::to_string(p.blocks * kBlock) + "_" + std::to_string(p.map) + "x" +
                              std::to_string(p.map);
    if (family == "conv_steps_u8") {
      constexpr const char* kKinds[] = {"_twice", "_once", "_pairs"};
      for (int kind = 0; kind < 3; ++kind)
        add(row, shape + kKinds[kind], [&row, p, kind](benchmark::State& s) { step_panel(s, row, p, kind); });
      continue;
    }
    add(row, shape, [&row, p, family](benchmark::State& s) {
      if (family == "conv_f32") return float_panel(s, row, p);
      if (family == "conv_s8") return integer_panel<ConvS8Args, int16_t, int16_t>(s, row, p);
      integer_panel<ConvByteArgs, uint8_t, int8_t>(s, row, p);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  const lq::KernelTable* const* tables = lq::kernel_tables(&count);
  for (int t = 0; t < count; ++t) {
    for (int r = 0; r < tables[t]->count; ++r) {
      if (lq::is_isa_supported(tables[t]->rows[r].isa)) register_row(tables[t]->rows[r]);
    }
  }
  register_layers();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
