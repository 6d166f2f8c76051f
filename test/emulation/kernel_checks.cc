#include "emulation/kernel_checks.h"

#include "kernels/conv_kernels.h"
#include "kernels/winograd_kernels.h"

namespace lq {
extern const KernelTable kScalarConvKernels;
extern const KernelTable kScalarWinogradKernels;
}  // namespace lq

namespace lq::test {
namespace {

/// xorshift32.
struct Random {
  uint32_t state;
  uint32_t next() {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
  }
  int between(int low, int high) { return int(uint32_t(low) + next() % (uint32_t(high) - uint32_t(low) + 1)); }
  bool chance(int percent) { return between(1, 100) <= percent; }
};

template <typename T, size_t kCount>
struct Buffer {
  T data[kCount];
  /// `count` values of [low, high], now and then only the two ends.
  void fill(Random& r, ptrdiff_t count, int low, int high) {
    if (size_t(count) > kCount) __builtin_trap();
    const bool extreme = r.chance(20);
    for (ptrdiff_t i = 0; i < count; ++i) data[i] = T(extreme ? (r.chance(50) ? high : low) : r.between(low, high));
  }
};

constexpr size_t kOutputBytes = 1 << 17;
Buffer<int8_t, 1 << 15> x_bytes, w_bytes;
Buffer<int16_t, 1 << 15> left, right;
Buffer<int32_t, kOutputBytes / 4> sums;
Buffer<int32_t, 64> bias;
float multiplier[64];
uint8_t scratch[1 << 15];
alignas(64) uint8_t output[2][kOutputBytes];

/// Runs both kernels, each on an output full of one pattern, and compares every byte; the first `bytes` and some behind
/// them are what they may write.
template <typename Run>
bool same(const KernelRow& row, const KernelRow& scalar, ptrdiff_t bytes, const Run& run) {
  const size_t looked_at = size_t(bytes) + 256 < kOutputBytes ? size_t(bytes) + 256 : kOutputBytes;
  for (uint8_t* y : output) __builtin_memset(y, 0xCD, looked_at);
  run(row, output[0]);
  run(scalar, output[1]);
  return __builtin_memcmp(output[0], output[1], looked_at) == 0;
}

Epilogue random_epilogue(Random& r, float size) {
  bias.fill(r, 64, -1000000, 1000000);
  for (float& m : multiplier) {
    m = (0.25f + float(r.next() >> 8) * 0x1p-24f) * size;
    if (r.chance(5)) m = 1e30f;
    if (r.chance(5)) m = 1e-41f;  // denormal outputs
  }
  Epilogue e{};
  e.struct_size = sizeof(e);
  e.bias = bias.data, e.multiplier = multiplier;
  e.zero_point = r.between(-128, 127);
  e.low = float(-128 - e.zero_point + r.between(0, 60)), e.high = float(127 - e.zero_point - r.between(0, 60));
  e.float_output = r.chance(40), e.float_clamp = r.chance(50);
  return e;
}

bool check_panel(const KernelRow& row, const KernelRow& scalar, Random& r) {
  ptrdiff_t taps[9];
  PanelGeometry g{};
  g.width = 16 * r.between(1, row.panel_width / 16), g.lanes = r.between(1, g.width);
  g.rows = r.between(1, 4), g.cols = r.between(1, 13);
  g.blocks = r.between(0, 4), g.tail = r.between(0, 7);
  g.x_col = kBlock * r.between(1, 3), g.x_row = g.x_col * g.cols + kBlock * r.between(0, 2);
  g.x_block = g.x_row * g.rows + 400;
  g.tap = taps, g.taps = r.between(0, 9);
  for (ptrdiff_t& t : taps) t = kBlock * r.between(0, 20);
  g.y_blocked = r.chance(60);
  g.y_col = g.y_blocked ? kBlock * r.between(1, 2) : g.lanes + r.between(0, 3);
  g.y_row = g.y_col * g.cols + (g.y_blocked ? kBlock * r.between(0, 1) : 0);
  g.y_block = g.y_blocked ? g.y_row * g.rows + 72 : kBlock;
  x_bytes.fill(r, g.x_block * (g.blocks + 1) + 800, -128, 127);
  w_bytes.fill(r, ptrdiff_t(g.taps) * kBlock * (g.blocks + 1) * g.width, -127, 127);
  const Epilogue e = random_epilogue(r, 0.01f);
  return same(row, scalar, 4 * (g.y_blocked ? 8 * g.y_block : g.y_row * g.rows), [&](const KernelRow& k, uint8_t* y) {
    PanelGeometry geometry = g;
    geometry.y = y;
    reinterpret_cast<ConvByteFn>(k.fn)({geometry, reinterpret_cast<const uint8_t*>(x_bytes.data), w_bytes.data, e});
  });
}

bool check_depthwise(const KernelRow& row, const KernelRow& scalar, Random& r) {
  DepthwiseByteArgs a{};
  a.taps_h = r.between(1, 7), a.taps_w = r.between(1, 7);
  a.dilation_h = r.between(1, 3), a.dilation_w = r.between(1, 3);
  a.stride_h = r.between(1, 3), a.stride_w = r.between(1, 3);
  a.in_h = r.between(1, 12), a.in_w = r.between(1, 30);
  a.first_row = r.between(-20, 14), a.first_col = r.chance(20) ? r.between(-40, 40) : -a.taps_w / 2;
  a.rows = r.between(1, 4), a.cols = r.between(1, 27);
  a.lanes = r.between(1, 8), a.zero_point = r.between(-128, 127);
  a.y_row = a.cols * kBlock + kBlock * r.between(0, 1);
  x_bytes.fill(r, ptrdiff_t(a.in_h) * a.in_w * kBlock, -128, 127), w_bytes.fill(r, 2 * 7 * 32, -127, 127);
  for (int t = a.taps_h; t % 4 != 0; ++t) {  // rows behind the last tap have weight 0
    for (int i = 0; i < a.taps_w * kBlock; ++i) w_bytes.data[(t / 4 * a.taps_w * kBlock + i) * 4 + t % 4] = 0;
  }
  a.x = x_bytes.data, a.w = w_bytes.data, a.epilogue = random_epilogue(r, 0.01f);
  return same(row, scalar, 4 * a.rows * a.y_row, [&](const KernelRow& k, uint8_t* y) {
    DepthwiseByteArgs args = a;
    args.y = y, args.quads = scratch;
    reinterpret_cast<DepthwiseByteFn>(k.fn)(args);
  });
}

bool check_offset(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int pixels = r.between(0, 40), step = r.chance(60) ? kBlock : r.between(8, 40);
  x_bytes.fill(r, 41 * step, -128, 127);
  return same(row, scalar, pixels * kBlock, [&](const KernelRow& k, uint8_t* y) {
    reinterpret_cast<OffsetU8Fn>(k.fn)({x_bytes.data, step, y, pixels});
  });
}

bool check_winograd_weights(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const int m = r.chance(50) ? 4 : 2, pairs = r.between(1, 9), step = 32 * (pairs + r.between(0, 1));
  w_bytes.fill(r, pairs * kWinogradPairBytes, -128, 127);
  return same(row, scalar, 2 * winograd_positions(m) * step, [&](const KernelRow& k, uint8_t* u) {
    reinterpret_cast<WinogradWeightsFn>(k.fn)({w_bytes.data, pairs, m, reinterpret_cast<int16_t*>(u), step});
  });
}

bool check_winograd_product(const KernelRow& row, const KernelRow& scalar, Random& r, int m) {
  const int positions = winograd_positions(m);
  WinogradProductArgs a{};
  a.pairs = r.between(1, 9), a.tiles = r.between(1, 25);
  a.accumulate = r.chance(50);
  a.v_block = kBlock * (a.tiles + r.between(0, 2)), a.v_position = (a.pairs + 3) / 4 * a.v_block;
  a.u_position = 32 * (a.pairs + r.between(0, 1)), a.sum_position = 16 * (a.tiles + r.between(0, 1));
  // Two panels share their weights here: what is compared is where their sums go.
  a.panels = r.between(1, row.panel_width / kWinogradPanel), a.u_panel = 32;
  a.sum_panel = positions * a.sum_position + 16 * r.between(0, 1);
  if (a.panels * a.sum_panel > ptrdiff_t(kOutputBytes / 4)) a.panels = 1;
  // The largest values the transforms make: 100 · 255 and 49 · 128.
  left.fill(r, positions * a.v_position, -25500, 25500);
  right.fill(r, positions * a.u_position + a.u_panel, -6272, 6272);
  sums.fill(r, a.panels * a.sum_panel, -2000000000, 2000000000);
  a.v = left.data, a.u = right.data;
  return same(row, scalar, 4 * a.panels * a.sum_panel, [&](const KernelRow& k, uint8_t* sum) {
    WinogradProductArgs args = a;
    args.sum = reinterpret_cast<int32_t*>(sum);
    __builtin_memcpy(sum, sums.data, size_t(a.panels * a.sum_panel) * 4);
    reinterpret_cast<WinogradProductFn>(k.fn)(args);
  });
}

bool check_winograd_output(const KernelRow& row, const KernelRow& scalar, Random& r) {
  WinogradOutputArgs a{};
  a.m = r.chance(50) ? 4 : 2;
  a.tiles = r.between(1, 5), a.rows = r.between(1, a.m), a.cols = (a.tiles - 1) * a.m + r.between(1, a.m);
  a.lanes = r.between(1, 16);
  a.sum_position = 16 * (a.tiles + r.between(0, 1));
  a.y_row = kBlock * (a.cols + r.between(0, 1)), a.y_block = a.y_row * a.rows + kBlock * r.between(0, 1);
  sums.fill(r, winograd_positions(a.m) * a.sum_position, -INT32_MAX, INT32_MAX);
  a.sum = sums.data, a.epilogue = random_epilogue(r, 1e-4f);
  return same(row, scalar, 8 * a.y_block, [&](const KernelRow& k, uint8_t* y) {
    WinogradOutputArgs args = a;
    args.y = y;
    reinterpret_cast<WinogradOutputFn>(k.fn)(args);
  });
}

bool is(const char* a, const char* b) {
  for (; *a != '\0' && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

/// 1: same bits, 0: others, −1: nothing to compare by.
int check(const KernelRow& row, const KernelRow& scalar, Random& r) {
  const char* family = row.family;
  if (is(family, "conv_u8") || is(family, "gemm_u8")) return check_panel(row, scalar, r);
  if (is(family, "depthwise_u8")) return check_depthwise(row, scalar, r);
  if (is(family, "offset_u8")) return check_offset(row, scalar, r);
  if (is(family, "winograd_weights")) return check_winograd_weights(row, scalar, r);
  if (is(family, "winograd23_s8")) return check_winograd_product(row, scalar, r, 2);
  if (is(family, "winograd43_s8")) return check_winograd_product(row, scalar, r, 4);
  if (is(family, "winograd_output")) return check_winograd_output(row, scalar, r);
  return -1;
}

const KernelRow* twin_of(const KernelRow& row) {
  const KernelTable* const tables[] = {&kScalarConvKernels, &kScalarWinogradKernels};
  for (const KernelTable* table : tables) {
    for (int i = 0; i < table->count; ++i) {
      if (is(table->rows[i].family, row.family)) return &table->rows[i];
    }
  }
  return nullptr;
}

}  // namespace

int check_rows(const KernelTable& table, int cases, RowReport report) {
  int bad_rows = table.count == 0;
  for (int i = 0; i < table.count; ++i) {
    const KernelRow& row = table.rows[i];
    const KernelRow* scalar = twin_of(row);
    Random r{uint32_t(31 + i)};
    int failed = scalar == nullptr ? -1 : 0;
    for (int n = 0; n < cases && failed >= 0; ++n) {
      const int result = check(row, *scalar, r);
      failed = result < 0 ? -1 : failed + (result == 0);
    }
    bad_rows += failed != 0;
    report(row.name, cases, failed);
  }
  return bad_rows;
}

}  // namespace lq::test
