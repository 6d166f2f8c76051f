#include "runtime/ops/conv_pack.h"

#include <algorithm>
#include <cstring>

namespace lq {
namespace {

/// Calls f(block or tail, first channel, channels) for the blocks of a tile.
template <typename F>
void for_each_block(const ConvTile& t, F&& f) {
  for (int32_t b = 0; b < t.blocks; ++b) f(int64_t(b) * kBlock, int64_t(kBlock));
  if (t.tail > 0) f(int64_t(t.blocks) * kBlock, int64_t(t.tail));
}

}  // namespace

StripRows strip_rows(const ConvShape& s, const ConvPhase& phase, int64_t row) {
  const ConvStrip& strip = phase.strip;
  const int64_t first = row * phase.row_mult + strip.first_row, step = strip.src_row_step;
  const int64_t outputs = std::min(strip.rows, phase.rows - row);
  const int64_t height = strip.height - (strip.rows - outputs) * strip.row_step;
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = first >= s.ih ? 0 : (s.ih - 1 - first) / step + 1;
  return {std::min(begin, height), std::clamp(end, std::min(begin, height), height), first + begin * step};
}

StripColumns strip_columns(const ConvShape& s, const ConvStrip& strip) {
  const int64_t first = strip.first_col, step = strip.src_col_step;
  const int64_t begin = std::min(strip.width, first >= 0 ? 0 : (-first + step - 1) / step);
  const int64_t end = first >= s.iw ? 0 : (s.iw - 1 - first) / step + 1;
  return {begin, std::clamp(end, begin, strip.width), first + begin * step};
}

void pack_conv_s8(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int16_t* out) {
  const ConvShape& s = plan.shape;
  for (const ConvPhase& phase : plan.phases) {
    for (const ConvTile& t : plan.tiles) {
      int16_t* panel = out + phase.weights + t.panel * int64_t(phase.taps.size());
      const int8_t* lane[2 * kBlock] = {};  // weights of each lane's first input channel
      int64_t lead[2 * kBlock] = {};        // that channel, counted from the tile's first
      for (int64_t l = 0; l < t.lanes; ++l) {
        const int64_t oc = t.channel + l, group = oc / s.ocg;
        lane[l] = w + group * strides.group + oc % s.ocg * strides.out;
        lead[l] = group * s.icg - t.in_begin;
      }
      for_each_block(t, [&](int64_t first, int64_t channels) {
        for (const ConvTap& tap : phase.taps) {
          for (int64_t i = 0; i < (channels + 1) / 2 * 2; i += 2) {
            for (int64_t l = 0; l < t.width; ++l) {
              for (int64_t j = i; j < i + 2; ++j) {
                const int64_t ic = first + j - lead[l];
                const bool real = l < t.lanes && ic >= 0 && ic < s.icg && j < channels;
                *panel++ = real ? lane[l][ic * strides.in + tap.index] : int16_t(0);
              }
            }
          }
        }
      });
    }
  }
}

void pack_conv_f32(const ConvPlan& plan, const WeightStrides& strides, const float* w, float* out) {
  const ConvShape& s = plan.shape;
  for (const ConvPhase& phase : plan.phases) {
    for (const ConvTile& t : plan.tiles) {
      float* panel = out + phase.weights + t.panel * int64_t(phase.taps.size());
      const float* base = w + t.group * strides.group + (t.channel - t.group * s.ocg) * strides.out;
      for_each_block(t, [&](int64_t first, int64_t channels) {
        for (const ConvTap& tap : phase.taps) {
          for (int64_t i = 0; i < channels; ++i) {
            for (int64_t l = 0; l < t.width; ++l) {
              *panel++ = l < t.lanes ? base[l * strides.out + (first + i) * strides.in + tap.index] : 0.0f;
            }
          }
        }
      });
    }
  }
}

void fill_strip_s8(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int8_t* x, int64_t row,
                   int32_t zero_point, WidenS8Fn widen, int16_t* strip) {
  const ConvStrip& g = phase.strip;
  const StripRows rows = strip_rows(s, phase, row);
  const StripColumns cols = strip_columns(s, g);
  const int64_t line = g.width * kBlock;
  // Rows without any padding lie one after another on both sides: one run.
  const bool contiguous =
      g.width == s.iw && cols.begin == 0 && cols.end == g.width && g.src_col_step == 1 && g.src_row_step == 1;
  for (int64_t b = 0; b < blocks; ++b, x += s.ih * s.iw * kBlock, strip += g.height * line) {
    std::memset(strip, 0, size_t(rows.begin * line) * sizeof(int16_t));
    std::memset(strip + rows.end * line, 0, size_t((g.height - rows.end) * line) * sizeof(int16_t));
    if (rows.begin == rows.end) continue;
    if (contiguous) {
      widen({x + rows.src * s.iw * kBlock, kBlock, strip + rows.begin * line, (rows.end - rows.begin) * g.width,
             zero_point});
      continue;
    }
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      int16_t* out = strip + r * line;
      const int8_t* in = x + ((rows.src + (r - rows.begin) * g.src_row_step) * s.iw + cols.src) * kBlock;
      std::memset(out, 0, size_t(cols.begin * kBlock) * sizeof(int16_t));
      if (cols.end > cols.begin)
        widen({in, ptrdiff_t(g.src_col_step * kBlock), out + cols.begin * kBlock, cols.end - cols.begin, zero_point});
      std::memset(out + cols.end * kBlock, 0, size_t((g.width - cols.end) * kBlock) * sizeof(int16_t));
    }
  }
}

void fill_strip_f32(const ConvShape& s, const ConvPhase& phase, int64_t channel, int64_t channels, const float* x,
                    int64_t row, float* strip) {
  const ConvStrip& g = phase.strip;
  const StripRows rows = strip_rows(s, phase, row);
  const StripColumns cols = strip_columns(s, g);
  const int64_t line = g.width * kBlock, plane = s.ih * s.iw * kBlock;
  for (int64_t first = 0; first < channels; first += kBlock, strip += g.height * line) {
    std::memset(strip, 0, size_t(g.height * line) * sizeof(float));
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      float* out = strip + r * line + cols.begin * kBlock;
      const int64_t src = ((rows.src + (r - rows.begin) * g.src_row_step) * s.iw + cols.src) * kBlock;
      const int64_t pixels = cols.end - cols.begin;
      if (pixels <= 0) continue;
      if ((channel + first) % kBlock == 0 && g.src_col_step == 1) {
        std::memcpy(out, x + (channel + first) / kBlock * plane + src, size_t(pixels * kBlock) * sizeof(float));
        continue;
      }
      for (int64_t i = 0; i < std::min<int64_t>(kBlock, channels - first); ++i) {
        const int64_t c = channel + first + i;
        const float* in = x + c / kBlock * plane + src + c % kBlock;
        for (int64_t p = 0; p < pixels; ++p) out[p * kBlock + i] = in[p * g.src_col_step * kBlock];
      }
    }
  }
}

}  // namespace lq
