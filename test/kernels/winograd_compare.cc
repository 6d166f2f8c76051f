#include "winograd_compare.h"

#include "kernels/winograd_kernels.h"

namespace lq::test {
namespace {

int random_m(Random& r) { return r.chance(50) ? 4 : 2; }

void compare_input(const KernelRow& row, const KernelRow& scalar, Random& r) {
  WinogradInputArgs a{};
  a.m = random_m(r);
  a.in_h = int32_t(r.between(1, 9)), a.in_w = int32_t(r.between(1, 21));
  a.first_row = int32_t(r.between(-8, 10)), a.first_col = int32_t(r.chance(60) ? r.between(-2, 1) : r.between(-30, 23));
  a.tiles = int32_t(r.between(1, 6)),
  a.zero_point = int32_t(r.chance(50) ? r.between(-128, 127) : r.between(0, 1) * 255 - 128);
  a.v_position = 8 * (a.tiles + r.between(0, 2));
  const std::vector<int8_t> x = r.int8(int64_t(a.in_h) * a.in_w * 8, -128);
  a.x = x.data();
  const auto run = [&](const KernelRow& k) {
    std::vector<int16_t> v(size_t(winograd_positions(a.m) * a.v_position), 0x5A5A),
        rows(size_t(winograd_row_scratch(a.tiles, a.in_w, a.m)), 0x7777);
    WinogradInputArgs args = a;
    args.v = v.data(), args.rows = rows.data();
    reinterpret_cast<WinogradInputFn>(k.fn)(args);
    return v;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_weights(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int m = random_m(r);
  const int64_t pairs = r.between(1, 9), step = 32 * (pairs + r.between(0, 1));
  const std::vector<int8_t> w = r.int8(pairs * kWinogradPairBytes, -128);
  const auto run = [&](const KernelRow& k) {
    std::vector<int16_t> u(size_t(winograd_positions(m) * step), 0x5A5A);
    reinterpret_cast<WinogradWeightsFn>(k.fn)({w.data(), int32_t(pairs), m, u.data(), ptrdiff_t(step)});
    return u;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

std::vector<int16_t> random_int16(Random& r, int64_t count, int bound) {
  std::vector<int16_t> v(static_cast<size_t>(count));
  const bool extreme = r.chance(20);
  for (int16_t& i : v) i = int16_t(extreme ? (r.chance(50) ? bound : -bound) : r.between(-bound, bound));
  return v;
}

void compare_product(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int positions = winograd_positions(std::string(row.family).rfind("winograd43", 0) == 0 ? 4 : 2);
  WinogradProductArgs a{};
  a.pairs = int32_t(r.between(1, 18)), a.tiles = int32_t(r.between(1, r.chance(50) ? 13 : 40));
  a.accumulate = r.chance(50);
  a.v_block = 8 * (a.tiles + r.between(0, 2)), a.v_position = (a.pairs + 3) / 4 * a.v_block;
  a.u_position = 32 * (a.pairs + r.between(0, 1)), a.sum_position = 16 * (a.tiles + r.between(0, 1));
  a.panels = int32_t(r.between(1, row.panel_width / kWinogradPanel));
  a.u_panel = positions * a.u_position + 32 * r.between(0, 1),
  a.sum_panel = positions * a.sum_position + 16 * r.between(0, 1);
  // The largest values the transforms make: 100 · 255 and 49 · 128.
  const std::vector<int16_t> v = random_int16(r, positions * a.v_position, 25500),
                             u = random_int16(r, a.panels * a.u_panel, 6272);
  const std::vector<int32_t> before = r.int32(a.panels * a.sum_panel, 2000000000);
  a.v = v.data(), a.u = u.data();
  const auto run = [&](const KernelRow& k) {
    std::vector<int32_t> sum = before;
    WinogradProductArgs args = a;
    args.sum = sum.data();
    reinterpret_cast<WinogradProductFn>(k.fn)(args);
    return sum;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

void compare_output(const KernelRow& row, const KernelRow& scalar, Random& r) {
  WinogradOutputArgs a{};
  a.m = random_m(r);
  a.tiles = int32_t(r.between(1, 5)), a.rows = int32_t(r.between(1, a.m));
  a.cols = int32_t((a.tiles - 1) * a.m + r.between(1, a.m)), a.lanes = int32_t(r.between(1, 16));
  a.sum_position = 16 * (a.tiles + r.between(0, 1));
  a.y_row = 8 * (a.cols + r.between(0, 1)), a.y_block = a.y_row * a.rows + 8 * r.between(0, 1);
  const std::vector<int32_t> sum = r.int32(winograd_positions(a.m) * a.sum_position, INT32_MAX);
  const std::vector<int32_t> bias = r.int32(16, 1000000);
  std::vector<float> multiplier(16);
  for (float& m : multiplier) m = r.scale() * (r.chance(5) ? 1e30f : 1e-4f);
  a.sum = sum.data();
  Epilogue& e = a.epilogue;
  e.struct_size = sizeof(e);
  e.bias = bias.data(), e.multiplier = multiplier.data(), e.zero_point = int32_t(r.between(-128, 127));
  e.low = float(-128 - e.zero_point + r.between(0, 60)), e.high = float(127 - e.zero_point - r.between(0, 60));
  e.float_output = r.chance(40), e.float_clamp = r.chance(50);
  const auto run = [&](const KernelRow& k) {
    std::vector<uint8_t> y(size_t(2 * a.y_block + 16) * (e.float_output ? 4 : 1), 0xCD);
    WinogradOutputArgs args = a;
    args.y = y.data();
    reinterpret_cast<WinogradOutputFn>(k.fn)(args);
    return y;
  };
  ASSERT_TRUE(same_bits(run(row), run(scalar)));
}

}  // namespace

void compare_winograd(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const std::string family = row.family;
  if (family == "winograd_input") return compare_input(row, scalar, r);
  if (family == "winograd_weights") return compare_weights(row, scalar, r);
  if (family == "winograd_output") return compare_output(row, scalar, r);
  compare_product(row, scalar, r);
}

}  // namespace lq::test
