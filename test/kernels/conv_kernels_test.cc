// Every row of the kernel registry against the scalar row of its family, bit for bit, on arguments no layer would make
// too: odd steps, any number of lanes, linear and blocked outputs, guard bytes around them.
#include "kernels/conv_kernels.h"

#include <algorithm>
#include <set>

#include "kernels/cpu_features.h"
#include "kernels/registry.h"
#include "layer_harness.h"
#include "runtime/model.h"
#include "winograd_compare.h"

namespace lq::test {
namespace {

/// A random panel problem over shared buffers.
struct PanelProblem {
  PanelGeometry geometry{};
  std::vector<ptrdiff_t> taps;
  size_t x_size = 0, w_channels = 0, pixels = 0;
};

PanelProblem random_panel(Random& r, bool depthwise) {
  PanelProblem p;
  PanelGeometry& g = p.geometry;
  const ptrdiff_t pixel = depthwise ? 16 : 8;  // elements (depthwise floats use 8 of them)
  g.width = depthwise || r.chance(40) ? 8 : 16;
  g.lanes = int32_t(r.between(1, g.width));
  g.rows = int32_t(r.between(1, 4)), g.cols = int32_t(r.between(1, 13));
  g.blocks = depthwise ? 0 : int32_t(r.between(0, 4)), g.tail = depthwise ? 0 : int32_t(r.between(0, 7));
  g.x_col = pixel * r.between(1, 3), g.x_row = g.x_col * g.cols + pixel * r.between(0, 2);
  g.x_block = g.x_row * g.rows + 400;
  for (int64_t t = r.between(0, 9); t > 0; --t) p.taps.push_back(pixel * r.between(0, 20));
  g.taps = int32_t(p.taps.size());
  p.x_size = size_t(g.x_block * (g.blocks + 2) + 1000);
  p.w_channels = size_t(g.blocks * 8 + (g.tail + 1) / 2 * 2) * p.taps.size() + 2 * p.taps.size();
  g.y_blocked = r.chance(60);
  // Blocked: two planes. Linear: pixels g.lanes (and more) apart.
  g.y_col = g.y_blocked ? 8 * r.between(1, 2) : g.lanes + r.between(0, 3);
  g.y_row = g.y_col * g.cols + 8 * r.between(0, 1);
  p.pixels = size_t(g.y_row * g.rows + 32);
  return p;
}

/// Runs `call` on a fresh guarded output and returns all of its bytes.
template <typename Call>
std::vector<uint8_t> output_of(const PanelProblem& p, size_t element, Call&& call) {
  std::vector<uint8_t> y(8 * p.pixels * element, 0xCD);
  PanelGeometry g = p.geometry;
  g.tap = p.taps.data();
  g.y = y.data();
  g.y_block = g.y_blocked ? ptrdiff_t(p.pixels) : 8;
  call(g);
  return y;
}

Epilogue random_epilogue(Random& r, const std::vector<int32_t>& bias, const std::vector<float>& multiplier) {
  Epilogue e{};
  e.struct_size = sizeof(e);
  e.bias = bias.data(), e.multiplier = multiplier.data();
  e.zero_point = int32_t(r.between(-128, 127));
  e.low = float(-128 - e.zero_point + r.between(0, 60)), e.high = float(127 - e.zero_point - r.between(0, 60));
  e.float_output = r.chance(40), e.float_clamp = r.chance(50);
  return e;
}

std::vector<int16_t> random_int16(Random& r, size_t count, int bound) {
  std::vector<int16_t> v(count);
  const bool extreme = r.chance(20);
  for (int16_t& i : v) i = int16_t(extreme ? (r.chance(50) ? bound : -bound) : r.between(-bound, bound));
  return v;
}

void compare_bytes(const KernelRow& row, const KernelRow& scalar, Random& r) {
  PanelProblem p = random_panel(r, false);
  PanelGeometry& g = p.geometry;
  g.width = int32_t(16 * r.between(1, row.panel_width / 16));
  g.lanes = int32_t(r.between(1, g.width));
  if (!g.y_blocked) g.y_col = g.lanes + r.between(0, 3), g.y_row = g.y_col * g.cols;
  const bool run = r.chance(40);  // a 1×1 layer: all pixels neighbours, every channel real
  if (!run && r.chance(40)) {     // rows of neighbouring outputs, any number of channels
    g.cols = int32_t(r.chance(50) ? 6 * r.between(1, 3) : r.between(24, 31)), g.y_blocked = true;
    g.x_col = kBlock * r.between(1, 3), g.x_row = g.x_col * g.cols + kBlock * r.between(0, 2);
    g.x_block = g.x_row * g.rows + 400, p.x_size = size_t(g.x_block * (g.blocks + 2) + 1000);
    g.y_col = kBlock, g.y_row = g.y_col * g.cols + 8 * r.between(0, 1);
  }
  if (run) {
    g.y_blocked = true, g.lanes = g.width;
    g.x_col = g.y_col = kBlock, g.x_row = g.y_row = g.cols * kBlock;
    if (r.chance(70)) {
      p.taps.assign(1, kBlock * r.between(0, 20)), g.taps = 1;
      p.w_channels = size_t(g.blocks + 1) * kBlock;
    }
  }
  p.pixels = size_t(g.y_row * g.rows + 72);
  const std::vector<int8_t> x = r.int8(int64_t(p.x_size), -128);
  const std::vector<int8_t> w =
      r.int8(int64_t(p.w_channels + 8 * (p.taps.size() + 1)) * 64, -127);  // as in verified files
  std::vector<int32_t> bias = r.int32(64, 1000000);
  std::vector<float> multiplier(64);
  for (float& m : multiplier)
    m = r.scale() * (r.chance(5) ? 1e30f : r.chance(5) ? 1e-41f : 0.01f);  // denormal outputs too
  std::fill(bias.begin() + g.lanes, bias.end(), 0), std::fill(multiplier.begin() + g.lanes, multiplier.end(), 0.0f);
  Epilogue e = random_epilogue(r, bias, multiplier);
  if (run && r.chance(80)) e.float_output = false;
  const auto output = [&](const KernelRow& k) {
    return output_of(p, e.float_output ? 4 : 1, [&](const PanelGeometry& geometry) {
      reinterpret_cast<ConvByteFn>(k.fn)({geometry, reinterpret_cast<const uint8_t*>(x.data()), w.data(), e});
    });
  };
  ASSERT_TRUE(same_bits(output(row), output(scalar)));
}

/// Weights of one proved group: random, extreme more often than not, cut so that x in 0…largest keeps its sums in
/// int16.
void fill_group(Random& r, const std::vector<int8_t*>& group, int largest) {
  int positive = 32767 / largest, negative = 32768 / largest;  // what is left
  const int sign = r.chance(50) ? 0 : r.chance(50) ? 1 : -1;
  for (int8_t* w : group) {
    int v = r.chance(60) ? (r.chance(50) ? 127 : -127) : int(r.between(-127, 127));
    if (sign != 0) v = sign * std::abs(v);
    v = std::clamp(v, -negative, positive);
    (v > 0 ? positive : negative) -= std::abs(v);
    *w = int8_t(v);
  }
}

void compare_steps(const KernelRow& row, const KernelRow& scalar, Random& r) {
  PanelProblem p = random_panel(r, false);
  const int width = p.geometry.width, largest = r.chance(60) ? 127 : 255;
  const int counts[3] = {2 * int(r.between(0, 3)), int(r.between(0, 4)), int(r.between(0, 4))};
  const int steps = counts[0] + counts[1] + counts[2];
  std::vector<int8_t> w(size_t(steps + 1) * 8 * size_t(width));
  const auto weight = [&](int s, int l, int channel) {
    return &w[size_t(((2 * s + channel / 4) * width + l) * 4 + channel % 4)];
  };
  for (int s = 0; s < steps; s += s < counts[0] ? 2 : 1) {
    for (int l = 0; l < width; ++l) {
      if (s >= counts[0] + counts[1]) {
        for (int i = 0; i < 8; i += 2) fill_group(r, {weight(s, l, i), weight(s, l, i + 1)}, largest);
        continue;
      }
      for (int i = 0; i < 4; i += 2) {
        std::vector<int8_t*> group;
        for (int k : {i, i + 1, i + 4, i + 5}) group.push_back(weight(s, l, k));
        for (int k : {i, i + 1, i + 4, i + 5}) {
          if (s < counts[0]) group.push_back(weight(s + 1, l, k));
        }
        fill_group(r, group, largest);
      }
    }
  }
  std::vector<uint8_t> x(p.x_size);
  const bool all = r.chance(30);
  for (uint8_t& v : x) v = uint8_t(all ? largest : r.between(0, largest));
  std::vector<int32_t> at;
  for (int s = 0; s < steps; ++s) at.push_back(int32_t(r.between(0, 400)));
  const std::vector<int32_t> bias = r.int32(16, 1000000);
  std::vector<float> multiplier(16);
  for (float& m : multiplier) m = r.scale() * (r.chance(5) ? 1e30f : 0.01f);
  const Epilogue e = random_epilogue(r, bias, multiplier);
  const auto run = [&](const KernelRow& k) {
    return output_of(p, e.float_output ? 4 : 1, [&](const PanelGeometry& g) {
      reinterpret_cast<ConvStepsFn>(k.fn)({g, x.data(), w.data(), e, at.data(), counts[0], counts[1], counts[2]});
    });
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_taps(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int largest = r.chance(60) ? 127 : 255, most = 65535 / largest;
  std::vector<int16_t> group, start;
  std::vector<int32_t> at;
  std::vector<int8_t> w;
  for (int64_t g = r.between(1, 5); g > 0; --g) {
    const int pairs = int(r.between(1, 5));
    int low[8] = {}, high[8] = {}, left[8];  // of the group's sums, and weight that still fits
    std::fill_n(left, 8, most);
    for (int p = 0; p < pairs; ++p) {
      at.push_back(int32_t(8 * r.between(0, 30))), at.push_back(int32_t(8 * r.between(0, 30)));
      for (int i = 0; i < 8; ++i) {
        int8_t pair[2];
        fill_group(r, {&pair[0], &pair[1]}, largest);
        for (int8_t& v : pair) {
          v = int8_t(std::clamp<int>(v, -left[i], left[i]));
          left[i] -= std::abs(v);
          (v > 0 ? high : low)[i] += v * largest;
          w.push_back(v);
        }
      }
    }
    group.push_back(int16_t(pairs));
    for (int i = 0; i < 8; ++i) start.push_back(int16_t(r.chance(50) ? 32767 - high[i] : -32768 - low[i]));
  }
  PanelProblem p = random_panel(r, true);
  PanelGeometry& g = p.geometry;
  g.y_blocked = true, g.y_col = 8, g.y_row = 8 * (g.cols + r.between(0, 2));
  g.x_col = 8 * r.between(1, 3), g.x_row = g.x_col * g.cols + 8 * r.between(0, 2);
  p.pixels = size_t(g.y_row * g.rows + 32);
  // As much as may be read, not a byte more: the sanitizer sees it.
  std::vector<uint8_t> x(size_t((g.rows - 1) * g.x_row + (g.cols + 2) * g.x_col + 30 * 8 + 8 + 32));
  const bool all = r.chance(30);
  for (uint8_t& v : x) v = uint8_t(all ? largest : r.between(0, largest));
  const std::vector<int32_t> bias = r.int32(8, 1000000);
  std::vector<float> multiplier(8);
  for (float& m : multiplier) m = r.scale() * (r.chance(5) ? 1e30f : 0.01f);
  const Epilogue e = random_epilogue(r, bias, multiplier);
  const auto run = [&](const KernelRow& k) {
    return output_of(p, e.float_output ? 4 : 1, [&](const PanelGeometry& geometry) {
      reinterpret_cast<DepthwiseTapsFn>(k.fn)(
          {geometry, x.data(), w.data(), e, at.data(), group.data(), start.data(), int32_t(group.size())});
    });
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

template <typename Args, typename Fn>
void compare_s8(const KernelRow& row, const KernelRow& scalar, Random& r, bool depthwise) {
  const PanelProblem p = random_panel(r, depthwise);
  const std::vector<int16_t> x = random_int16(r, p.x_size, 255);  // q − zp has 9 bits
  const std::vector<int16_t> w = random_int16(r, (p.w_channels + 8) * 16, 255);
  const std::vector<int32_t> bias = r.int32(16, 1000000);
  std::vector<float> multiplier(16);
  for (float& m : multiplier)
    m = r.scale() * (r.chance(5) ? 1e30f : r.chance(5) ? 1e-41f : 0.01f);  // denormal outputs too
  const Epilogue e = random_epilogue(r, bias, multiplier);
  const auto run = [&](const KernelRow& k) {
    return output_of(p, e.float_output ? 4 : 1, [&](const PanelGeometry& g) {
      reinterpret_cast<Fn>(k.fn)(Args{g, x.data(), w.data(), e});
    });
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

/// Now and then products and sums are denormal.
float float_size(Random& r) { return r.chance(20) ? 1e-20f : 1.0f; }

void compare_conv_f32(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const PanelProblem p = random_panel(r, false);
  const float size = float_size(r);
  const std::vector<float> x = r.floats(int64_t(p.x_size), size), w = r.floats(int64_t(p.w_channels + 8) * 16, size);
  const std::vector<float> start = r.floats(16 * (p.geometry.rows * p.geometry.cols + 1), size * size);
  const FloatClamp clamp{r.chance(50), -0.5f, 0.5f};
  const bool per_pixel = r.chance(50);
  const auto run = [&](const KernelRow& k) {
    return output_of(p, 4, [&](const PanelGeometry& g) {
      reinterpret_cast<ConvF32Fn>(k.fn)(
          {g, x.data(), w.data(), start.data(), per_pixel ? 16 * g.cols : 0, per_pixel ? 16 : 0, clamp});
    });
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_depthwise_bytes(const KernelRow& row, const KernelRow& scalar, Random& r) {
  DepthwiseByteArgs a{};
  a.taps_h = int32_t(r.between(1, 7)), a.taps_w = int32_t(r.between(1, 7));
  a.dilation_h = int32_t(r.between(1, 3)), a.dilation_w = int32_t(r.between(1, 3));
  a.stride_h = int32_t(r.between(1, 3)), a.stride_w = int32_t(r.between(1, 3));
  a.in_h = int32_t(r.between(1, 12)), a.in_w = int32_t(r.between(1, 30));
  a.first_row = int32_t(r.between(-20, 14)), a.first_col = int32_t(r.chance(20) ? r.between(-40, 40) : -a.taps_w / 2);
  a.rows = int32_t(r.between(1, 4)), a.cols = int32_t(r.between(1, 27));
  a.lanes = int32_t(r.between(1, 8)), a.zero_point = int32_t(r.between(-128, 127));
  a.y_row = a.cols * 8 + 8 * r.between(0, 1);
  const std::vector<int8_t> x = r.int8(int64_t(a.in_h) * a.in_w * 8, -128);
  std::vector<int8_t> w = r.int8(int64_t((a.taps_h + 3) / 4) * a.taps_w * 32, -127);
  for (int t = 0; t < (a.taps_h + 3) / 4 * 4; ++t) {  // rows behind the last tap have weight 0
    for (int i = 0; t >= a.taps_h && i < a.taps_w * 8; ++i) w[size_t((t / 4 * a.taps_w * 8 + i) * 4 + t % 4)] = 0;
  }
  const std::vector<int32_t> bias = r.int32(8, 1000000);
  std::vector<float> multiplier(8);
  for (float& m : multiplier) m = r.scale() * 0.01f;
  a.x = x.data(), a.w = w.data(), a.epilogue = random_epilogue(r, bias, multiplier);
  const auto run = [&](const KernelRow& k) {
    // Scratch of exactly the stated size: the sanitizer sees a byte more.
    const int64_t span = depthwise_span(a.cols, a.stride_w, a.taps_w, a.dilation_w);
    std::vector<uint8_t> y(size_t(a.rows * a.y_row + 16) * 4, 0xCD),
        quads(size_t(depthwise_scratch(span, a.taps_h, a.taps_w)), 0x77);
    DepthwiseByteArgs args = a;
    args.y = y.data(), args.quads = quads.data();
    reinterpret_cast<DepthwiseByteFn>(k.fn)(args);
    return y;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_depthwise_f32(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const PanelProblem p = random_panel(r, true);
  const float size = float_size(r);
  const std::vector<float> x = r.floats(int64_t(p.x_size), size), w = r.floats(int64_t(p.taps.size() + 1) * 8, size),
                           start = r.floats(8, size * size);
  const FloatClamp clamp{r.chance(50), -0.5f, 0.5f};
  const auto run = [&](const KernelRow& k) {
    return output_of(p, 4, [&](const PanelGeometry& g) {
      reinterpret_cast<DepthwiseF32Fn>(k.fn)({g, x.data(), w.data(), start.data(), clamp});
    });
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_widen(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int64_t pixels = r.between(0, 20), step = r.chance(60) ? 8 : r.between(8, 40);
  const std::vector<int8_t> x = r.int8(pixels * step + 8, -128);
  const int32_t zp = int32_t(r.between(-128, 127));
  const auto run = [&](const KernelRow& k) {
    std::vector<int16_t> y(size_t(pixels * 8 + 8), 0x5A5A);
    reinterpret_cast<WidenS8Fn>(k.fn)({x.data(), ptrdiff_t(step), y.data(), pixels, zp});
    return y;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_offset(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int64_t pixels = r.between(0, 40), step = r.chance(60) ? 8 : r.between(8, 40);
  const std::vector<int8_t> x = r.int8(pixels * step + 8, -128);
  const auto run = [&](const KernelRow& k) {
    std::vector<uint8_t> y(size_t(pixels * 8 + 8), 0x5A);
    reinterpret_cast<OffsetU8Fn>(k.fn)({x.data(), ptrdiff_t(step), y.data(), pixels});
    return y;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_interleave(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int64_t pixels = r.between(0, 20), shift = 8 * r.between(0, 3);
  const std::vector<int16_t> x = random_int16(r, size_t(pixels * 8 + shift + 8), 255);
  const auto run = [&](const KernelRow& k) {
    std::vector<int16_t> y(size_t(pixels * 16 + 8), 0x5A5A);
    reinterpret_cast<InterleaveS16Fn>(k.fn)({x.data(), ptrdiff_t(shift), y.data(), pixels});
    return y;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

/// One random comparison; false for a family this file doesn't know.
bool compare(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const std::string family = row.family;
  if (family.rfind("winograd", 0) == 0) {
    compare_winograd(row, scalar, r);
  } else if (family == "conv_s8" || family == "gemm_s8") {
    compare_s8<ConvS8Args, ConvS8Fn>(row, scalar, r, false);
  } else if (family == "conv_steps_u8" || family == "gemm_steps_u8") {
    compare_steps(row, scalar, r);
  } else if (family == "depthwise_taps_u8") {
    compare_taps(row, scalar, r);
  } else if (family == "depthwise_u8" || family == "depthwise_s8x4") {
    compare_depthwise_bytes(row, scalar, r);
  } else if (family == "conv_u8" || family == "gemm_u8" || family.find("_s8x") != std::string::npos) {
    compare_bytes(row, scalar, r);
  } else if (family == "offset_u8") {
    compare_offset(row, scalar, r);
  } else if (family == "depthwise_s8") {
    compare_s8<DepthwiseS8Args, DepthwiseS8Fn>(row, scalar, r, true);
  } else if (family == "conv_f32" || family == "gemm_f32") {
    compare_conv_f32(row, scalar, r);
  } else if (family == "depthwise_f32") {
    compare_depthwise_f32(row, scalar, r);
  } else if (family == "widen_s8") {
    compare_widen(row, scalar, r);
  } else if (family == "interleave_s16") {
    compare_interleave(row, scalar, r);
  } else {
    return false;
  }
  return true;
}

/// Float activations equal numerics/elementary, not a scalar row: function_kernels_test.cc.
bool is_function_family(const std::string& family) {
  return family == "exp_f32" || family == "sigmoid_f32" || family == "silu_f32" || family == "hard_sigmoid_f32" ||
         family == "hard_swish_f32";
}

TEST(KernelRegistry, EveryRowEqualsItsScalarTwin) {
  int count = 0, compared = 0;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int t = 0; t < count; ++t) {
    for (int i = 0; i < tables[t]->count; ++i) {
      const KernelRow& row = tables[t]->rows[i];
      SCOPED_TRACE(row.name);
      if (is_function_family(row.family)) continue;
      const KernelRow* scalar = find_kernel(row.family, Isa::kScalar);
      ASSERT_NE(scalar, nullptr) << "family without a scalar twin";
      ASSERT_EQ(scalar->isa, Isa::kScalar);
      if (!is_isa_supported(row.isa)) continue;
      Random r(uint32_t(31 + i));
      for (int n = 0; n < 200; ++n) {
        ASSERT_TRUE(compare(row, *scalar, r)) << "family " << row.family << " has no comparison here";
        if (HasFatalFailure()) return;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 8);
}

TEST(KernelRegistry, NamesAreUniqueAndTellTheIsa) {
  std::set<std::string> names;
  int count = 0;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int t = 0; t < count; ++t) {
    for (int i = 0; i < tables[t]->count; ++i) {
      const KernelRow& row = tables[t]->rows[i];
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
      const std::string suffix = std::string("__") + isa_name(row.isa);
      EXPECT_NE(std::string(row.name).find(suffix), std::string::npos) << row.name;
      EXPECT_EQ(std::string(row.name).find(row.family), 0u) << row.name;
    }
  }
  EXPECT_EQ(find_kernel("no_such_family", Isa::kScalar), nullptr);
}

}  // namespace
}  // namespace lq::test
