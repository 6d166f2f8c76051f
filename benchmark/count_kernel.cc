// Calls one product kernel on one layer, for counting its instructions under emulation (count_instructions.sh).
// Usage: count_kernel FAMILY ISA LAYER CALLS. Prints the kernel's name and the layer's multiply-adds and outputs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/conv_kernels.h"
#include "kernels/cpu_features.h"
#include "kernels/registry.h"

namespace lq {
namespace {

struct Layer {
  const char* name;
  int channels, size, kernel;
  bool depthwise;
};
constexpr Layer kLayers[] = {{"conv1x1_256_14", 256, 14, 1, false},
                             {"conv3x3_64_28", 64, 28, 3, false},
                             {"depthwise3x3_56", 64, 56, 3, true},
                             {"depthwise3x3_14", 64, 14, 3, true},
                             {"depthwise5x5_28", 64, 28, 5, true}};
constexpr const char* kIsas[kIsaCount] = {"scalar", "sse41",        "avx2",      "avxvnni",    "avx512vnni",
                                          "neon",   "neon_dotprod", "neon_i8mm", "neon_vfpv4", "rvv"};

/// Buffers of a layer, at most 16 bytes an element everywhere; what they hold does not matter.
struct Buffers {
  explicit Buffers(const Layer& l) {
    const size_t padded = size_t(l.size + l.kernel - 1);
    x.assign(padded * padded * size_t(l.channels) * 4 + 4096, 1);
    w.assign(size_t(l.channels) * size_t(l.depthwise ? 8 : l.channels) * size_t(l.kernel * l.kernel) * 4 + 4096, 1);
    y.assign(size_t(l.size * l.size * l.channels) * 4 + 4096, 0);
    bias.assign(64, 1), multiplier.assign(64, 0.001f);
  }
  std::vector<uint8_t> x, w, y;
  std::vector<int32_t> bias;
  std::vector<float> multiplier;
  /// The bounds are those of int8, as in most layers.
  Epilogue epilogue() const { return {sizeof(Epilogue), bias.data(), multiplier.data(), -131, 124, 3, false, false}; }
};

/// As runtime/ops/conv_run.cc calls it: a panel of channels after the other, over the padded input of a k×k layer.
void run_conv(const KernelRow& row, const Layer& l, Buffers& b) {
  std::vector<ptrdiff_t> taps;
  const int padded = l.size + l.kernel - 1;
  for (int t = 0; t < l.kernel * l.kernel; ++t) taps.push_back((t / l.kernel * padded + t % l.kernel) * kBlock);
  PanelGeometry g{};
  g.x_block = padded * padded * kBlock, g.x_row = padded * kBlock, g.x_col = kBlock;
  g.tap = taps.data(), g.taps = int32_t(taps.size()), g.blocks = l.channels / kBlock;
  g.rows = g.cols = l.size;
  g.y_row = l.size * kBlock, g.y_col = kBlock, g.y_block = l.size * l.size * kBlock, g.y_blocked = true;
  g.width = g.lanes = row.panel_width < l.channels ? row.panel_width : l.channels;
  for (int c = 0; c < l.channels; c += g.width) {
    g.y = b.y.data() + c / kBlock * g.y_block;
    if (std::strcmp(row.family, "conv_s8") == 0) {
      reinterpret_cast<ConvS8Fn>(row.fn)({g, reinterpret_cast<const int16_t*>(b.x.data()),
                                          reinterpret_cast<const int16_t*>(b.w.data()), b.epilogue()});
    } else if (std::strcmp(row.family, "conv_f32") == 0) {
      reinterpret_cast<ConvF32Fn>(row.fn)({g,
                                           reinterpret_cast<const float*>(b.x.data()),
                                           reinterpret_cast<const float*>(b.w.data()),
                                           b.multiplier.data(),
                                           0,
                                           0,
                                           {}});
    } else {
      reinterpret_cast<ConvByteFn>(row.fn)({g, b.x.data(), reinterpret_cast<const int8_t*>(b.w.data()), b.epilogue()});
    }
  }
}

void run_depthwise(const KernelRow& row, const Layer& l, Buffers& b) {
  const int pad = l.kernel / 2;
  std::vector<uint8_t> scratch(size_t(depthwise_scratch(depthwise_span(l.size, 1, l.kernel, 1), l.kernel, l.kernel)));
  for (int c = 0; c < l.channels; c += kBlock) {
    DepthwiseByteArgs a{};
    a.x = reinterpret_cast<const int8_t*>(b.x.data()), a.in_h = a.in_w = l.size;
    a.first_row = a.first_col = -pad, a.taps_h = a.taps_w = l.kernel;
    a.dilation_h = a.dilation_w = a.stride_h = a.stride_w = 1;
    a.rows = a.cols = l.size, a.lanes = kBlock, a.zero_point = 3;
    a.y = b.y.data() + c * l.size * l.size, a.y_row = l.size * kBlock;
    a.quads = scratch.data(), a.w = reinterpret_cast<const int8_t*>(b.w.data()), a.epilogue = b.epilogue();
    reinterpret_cast<DepthwiseByteFn>(row.fn)(a);
  }
}

int run(const char* family, const char* isa_name, const char* layer_name, int calls) {
  for (int i = 0; i < kIsaCount; ++i) {
    if (std::strcmp(kIsas[i], isa_name) != 0 || !is_isa_built(Isa(i)) || !is_isa_supported(Isa(i))) continue;
    const KernelRow* row = find_kernel(family, Isa(i));
    for (const Layer& l : kLayers) {
      if (std::strcmp(l.name, layer_name) != 0 || row == nullptr) continue;
      Buffers buffers(l);
      for (int n = 0; n < calls; ++n) l.depthwise ? run_depthwise(*row, l, buffers) : run_conv(*row, l, buffers);
      const long long outputs = static_cast<long long>(l.size) * l.size * l.channels;
      std::printf("%s macs %lld outputs %lld\n", row->name,
                  outputs * l.kernel * l.kernel * (l.depthwise ? 1 : l.channels), outputs);
      return 0;
    }
  }
  std::fprintf(stderr, "count_kernel: no such family, instruction set or layer here\n");
  return 2;
}

}  // namespace
}  // namespace lq

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("Usage: count_kernel FAMILY ISA LAYER CALLS\n", stderr), 2;
  return lq::run(argv[1], argv[2], argv[3], std::atoi(argv[4]));
}
