// int8 panel product on sdot. Tile: 6 pixels × 16 channels: 24 accumulators, 4 weights, 3 registers of two pixels' 8
// channels each, multiplied by lane. Two pixels that are neighbours in NCHWc8 are one 16-byte load.
#include "kernels/neon/conv_store.h"
#include "kernels/neon_dotprod/conv_rows.h"

namespace lq::neon_dotprod {
namespace {

/// Group `kGroup` of 4 channels, 0 or 1 of the block.
template <int kPairs, int kGroup>
[[gnu::always_inline]] static inline void add_group(int32x4_t (&acc)[2 * kPairs][4], const int8x16_t (&in)[kPairs],
                                                    const int8_t* w) {
  int8x16_t weights[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) weights[v] = vld1q_s8(w + 16 * v);
#pragma GCC unroll 3
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      acc[2 * p][v] = vdotq_laneq_s32(acc[2 * p][v], weights[v], in[p], kGroup);
      acc[2 * p + 1][v] = vdotq_laneq_s32(acc[2 * p + 1][v], weights[v], in[p], 2 + kGroup);
    }
  }
}

/// The pixels of a tile: where each pair begins, and how far the second is if pairs are no neighbours.
template <int kPairs, bool kNeighbours>
struct Pixels {
  const int8_t* first[kPairs];
  const int8_t* second[kPairs];
  [[gnu::always_inline]] void load(ptrdiff_t offset, int8x16_t (&in)[kPairs]) const {
#pragma GCC unroll 3
    for (int p = 0; p < kPairs; ++p) {
      in[p] = kNeighbours ? vld1q_s8(first[p] + offset)
                          : vcombine_s8(vld1_s8(first[p] + offset), vld1_s8(second[p] + offset));
    }
  }
};

/// Pixels 2·p and 2·p + 1 for p < kPairs; kNeighbours: each pair lies in 16 neighbouring bytes. `odd`: the last pixel
/// has no partner, x_at repeats it.
struct Tile {
  template <int kPairs, bool kNeighbours>
  [[gnu::noinline]] static void run(const ConvByteArgs& a, const ptrdiff_t* x_at, const ptrdiff_t* y_at, bool odd) {
    const PanelGeometry& g = a.geometry;
    Pixels<kPairs, kNeighbours> x;
    int32x4_t acc[2 * kPairs][4];
#pragma GCC unroll 6
    for (int p = 0; p < 2 * kPairs; ++p) {
      (p % 2 == 0 ? x.first : x.second)[p / 2] = reinterpret_cast<const int8_t*>(a.x) + x_at[p];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) acc[p][v] = vld1q_s32(a.epilogue.bias + 4 * v);
    }
    const int8_t* w = a.w;
    const ptrdiff_t* const taps_end = g.tap + g.taps;
    const ptrdiff_t x_block = g.x_block;
    int8x16_t in[kPairs];
    ptrdiff_t block = g.taps == 1 ? g.tap[0] : 0;
    int left = g.blocks;
    if (g.taps == 1) {
      for (; left > 0; --left, block += x_block, w += 128) {
        x.load(block, in);
        add_group<kPairs, 0>(acc, in, w);
        add_group<kPairs, 1>(acc, in, w + 64);
      }
      block -= g.tap[0];
    }
    for (; left > 0; --left, block += x_block) {
      for (const ptrdiff_t* tap = g.tap; tap != taps_end; ++tap, w += 128) {
        x.load(block + *tap, in);
        add_group<kPairs, 0>(acc, in, w);
        add_group<kPairs, 1>(acc, in, w + 64);
      }
    }
    for (const ptrdiff_t* tap = g.tap; g.tail > 0 && tap != taps_end; ++tap) {
      x.load(block + *tap, in);
      add_group<kPairs, 0>(acc, in, w);
      w += 64;
      if (g.tail <= 4) continue;
      add_group<kPairs, 1>(acc, in, w);
      w += 64;
    }
    neon::store_tile<4>(g, a.epilogue, acc, y_at, odd ? 2 * kPairs - 1 : 2 * kPairs);
  }
};

/// Two neighbouring outputs of the first block are 16 bytes, and lanes without a channel get the zero point by
/// themselves: their bias and multiplier are 0, and the bounds (relative to it) let 0 pass.
bool stores_whole_blocks(const PanelGeometry& g, const Epilogue& e) {
  if (e.float_output || g.width != 16) return false;
  if (g.lanes % kBlock == 0) return true;
  return g.y_blocked && e.low <= 0.0f && e.high >= 0.0f;
}

/// `pixels` of a row: whole tiles, then what is left.
template <int kVectors>
void run_row(const ConvByteArgs& a, const int8_t* x, int8_t* y, ptrdiff_t pixels) {
  const ptrdiff_t pixel = a.geometry.x_col, whole = pixels / 6;
  if (whole > 0) run_pixels<6, kVectors>(a, x, y, whole);
  ptrdiff_t done = whole * 6, left = pixels - done;
  if (left == 0) return;
  if (whole > 0 && (pixel != kBlock || left > 4)) {  // once more the last six: cheaper than one by one
    done = pixels - 6;
    return run_pixels<6, kVectors>(a, x + done * pixel, y + done * kBlock, 1);
  }
  if (pixel == kBlock) {
    if (left >= 4) {
      run_pixels<4, kVectors>(a, x + done * pixel, y + done * kBlock, 1);
      done += 4, left -= 4;
    }
    if (left >= 2) {
      run_pixels<2, kVectors>(a, x + done * pixel, y + done * kBlock, 1);
      done += 2, left -= 2;
    }
  }
  if (left > 0) run_pixels<1, kVectors>(a, x + done * pixel, y + done * kBlock, left);
}

/// The panel as one row if its rows follow one another, else row by row; false if that is not for this panel.
bool run_rows(const ConvByteArgs& a) {
  const PanelGeometry& g = a.geometry;
  const int8_t* x = reinterpret_cast<const int8_t*>(a.x);
  int8_t* y = static_cast<int8_t*>(g.y);
  const bool one = g.rows == 1 && g.cols == 1;
  if (g.taps < 1 || g.taps > kMostTaps || (g.y_col != kBlock && !one) || g.blocks + g.tail == 0) return false;
  if (!stores_whole_blocks(g, a.epilogue)) return false;
  const auto run = [&](int64_t row, ptrdiff_t pixels) {
    const int8_t* from = x + row * g.x_row;
    int8_t* to = y + row * g.y_row;
    g.lanes > kBlock ? run_row<4>(a, from, to, pixels) : run_row<2>(a, from, to, pixels);
  };
  if (one || g.rows == 1 || (g.x_row == g.cols * g.x_col && g.y_row == g.cols * g.y_col)) {
    run(0, ptrdiff_t(g.rows) * g.cols);
    return true;
  }
  if (g.cols % 6 != 0 && g.cols < 24) return false;  // tiles across rows waste less
  for (int r = 0; r < g.rows; ++r) run(r, g.cols);
  return true;
}

}  // namespace

void conv_s8x4(const ConvByteArgs& a) {
  if (!run_rows(a)) neon::run_pair_tiles<Tile>(a);
}

}  // namespace lq::neon_dotprod
