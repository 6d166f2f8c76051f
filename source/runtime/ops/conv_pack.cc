#include "runtime/ops/conv_pack.h"

#include <algorithm>
#include <cstring>

namespace lq {
namespace {

constexpr int64_t kMaxPanel = 64;

/// Calls f(block or tail, first channel, channels) for the blocks of a tile.
template <typename F>
void for_each_block(const ConvTile& t, F&& f) {
  for (int32_t b = 0; b < t.blocks; ++b) f(int64_t(b) * kBlock, int64_t(kBlock));
  if (t.tail > 0) f(int64_t(t.blocks) * kBlock, int64_t(t.tail));
}

/// Panels of an integer form whose blocks are padded to kRounded channels; `sums` (may be null): what pack_conv_bytes
/// says.
template <int64_t kTogether, int64_t kRounded = kTogether, typename Element>
void pack_integer(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, Element* out, int32_t* sums) {
  const ConvShape& s = plan.shape;
  for (const ConvPhase& phase : plan.phases) {
    for (const ConvTile& t : plan.tiles) {
      Element* panel = out + phase.weights + t.panel * int64_t(phase.taps.size());
      uint32_t lane_sum[kMaxPanel] = {};
      for (int64_t l = 0; l < t.width; ++l) {
        const int64_t oc = std::min<int64_t>(t.channel + l, s.oc - 1), group = oc / s.ocg;
        const int8_t* lane = w + group * strides.group + oc % s.ocg * strides.out;
        const int64_t lead =
            group * plan.group_channels() - t.in_begin;  // its first input channel, counted from the tile's first
        Element* to = panel + l * kTogether;
        for_each_block(t, [&](int64_t first, int64_t channels) {
          for (const ConvTap& tap : phase.taps) {
            const int64_t padded = (channels + kRounded - 1) / kRounded * kRounded;
            for (int64_t i = 0; i < padded; i += kTogether, to += t.width * kTogether) {
              for (int64_t j = 0; j < kTogether; ++j) {
                const int64_t ic = first + i + j - lead;
                const bool real = l < t.lanes && ic >= 0 && ic < plan.group_channels() && i + j < channels;
                to[j] = real ? lane[ic * strides.in + tap.index] : Element(0);
                lane_sum[l] += uint32_t(int32_t(to[j]));
              }
            }
          }
        });
      }
      if (sums != nullptr) std::copy_n(lane_sum, t.width, sums + t.slot);
    }
    if (sums != nullptr) sums += plan.slots;
  }
}

/// Elements of one pixel block made by convert(in, x_step, out, pixels), the rest `padding`.
template <typename Source, typename Element, typename Convert>
void fill_strip(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const Source* x, int64_t row,
                Element padding, Convert&& convert, Element* strip) {
  const ConvStrip& g = phase.strip;
  const StripRows rows = strip_rows(s, phase, row);
  const StripColumns cols = strip_columns(s, g);
  const int64_t line = g.width * kBlock;
  // Rows without any padding lie one after another on both sides: one run.
  const bool contiguous =
      g.width == s.iw && cols.begin == 0 && cols.end == g.width && g.src_col_step == 1 && g.src_row_step == 1;
  for (int64_t b = 0; b < blocks; ++b, x += s.ih * s.iw * kBlock, strip += g.height * line) {
    std::fill_n(strip, rows.begin * line, padding);
    std::fill_n(strip + rows.end * line, (g.height - rows.end) * line, padding);
    if (rows.begin == rows.end) continue;
    if (contiguous) {
      convert(x + rows.src * s.iw * kBlock, kBlock, strip + rows.begin * line, (rows.end - rows.begin) * g.width);
      continue;
    }
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      Element* out = strip + r * line;
      const Source* in = x + ((rows.src + (r - rows.begin) * g.src_row_step) * s.iw + cols.src) * kBlock;
      std::fill_n(out, cols.begin * kBlock, padding);
      if (cols.end > cols.begin)
        convert(in, ptrdiff_t(g.src_col_step * kBlock), out + cols.begin * kBlock, cols.end - cols.begin);
      std::fill_n(out + cols.end * kBlock, (g.width - cols.end) * kBlock, padding);
    }
  }
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

void pack_conv_s16(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int16_t* out) {
  pack_integer<2>(plan, strides, w, out, nullptr);
}

void pack_conv_bytes(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int8_t* out, int32_t* sums) {
  channels_together(plan.form) == 8 ? pack_integer<8>(plan, strides, w, out, sums)
                                    : pack_integer<4>(plan, strides, w, out, sums);
}

void pack_conv_steps(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int8_t* out, int32_t* sums) {
  pack_integer<4, 8>(plan, strides, w, out, sums);
}

void CopyPixels::operator()(const int16_t* x, ptrdiff_t x_step, int16_t* y, int64_t pixels) const {
  if (x_step == kBlock) {
    std::memcpy(y, x, size_t(pixels * kBlock) * sizeof(int16_t));
    return;
  }
  for (int64_t p = 0; p < pixels; ++p) std::memcpy(y + p * kBlock, x + p * x_step, kBlock * sizeof(int16_t));
}

void fill_strip_s16(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int8_t* x, int64_t row,
                    const WidenPixels& convert, int16_t* strip) {
  fill_strip(s, phase, blocks, x, row, int16_t(0), convert, strip);
}
void fill_strip_s16(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int16_t* x, int64_t row,
                    const CopyPixels& convert, int16_t* strip) {
  fill_strip(s, phase, blocks, x, row, int16_t(0), convert, strip);
}

namespace {

template <typename Source, typename Convert>
void fill_joined(const ConvShape& s, const ConvPhase& phase, const Source* x, int64_t row, const Convert& convert,
                 int16_t* strip) {
  constexpr int64_t kChunk = 64;
  const ConvStrip& g = phase.strip;
  const StripRows rows = strip_rows(s, phase, row);
  const StripColumns cols = strip_columns(s, g);
  const int64_t line = g.width * s.ic;
  std::fill_n(strip, rows.begin * line, int16_t(0));
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    int16_t* out = strip + r * line;
    const Source* in = x + ((rows.src + (r - rows.begin) * g.src_row_step) * s.iw + cols.src) * kBlock;
    std::fill_n(out, cols.begin * s.ic, int16_t(0));
    int16_t pixels[kChunk * kBlock];
    for (int64_t p = cols.begin; p < cols.end; p += kChunk, in += kChunk * kBlock) {
      const int64_t n = std::min(kChunk, cols.end - p);
      convert(in, kBlock, pixels, n);
      // Whole blocks, each over the empty lanes of the one before: faster than the channels alone.
      for (int64_t i = 0; i < n; ++i) std::memcpy(out + (p + i) * s.ic, pixels + i * kBlock, kBlock * sizeof(int16_t));
    }
    std::fill_n(out + cols.end * s.ic, (g.width - cols.end) * s.ic, int16_t(0));
  }
  std::fill_n(strip + rows.end * line, (g.height - rows.end) * line, int16_t(0));
}

}  // namespace

void fill_strip_joined(const ConvShape& s, const ConvPhase& phase, const int8_t* x, int64_t row,
                       const WidenPixels& convert, int16_t* strip) {
  fill_joined(s, phase, x, row, convert, strip);
}
void fill_strip_joined(const ConvShape& s, const ConvPhase& phase, const int16_t* x, int64_t row,
                       const CopyPixels& convert, int16_t* strip) {
  fill_joined(s, phase, x, row, convert, strip);
}

std::vector<int8_t> join_weights(const ConvShape& s, const int8_t* w) {
  const int64_t taps = s.kh * s.kw;
  std::vector<int8_t> joined(size_t(s.oc * taps * s.ic));
  for (int64_t o = 0; o < s.oc; ++o) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t c = 0; c < s.ic; ++c) joined[size_t((o * taps + t) * s.ic + c)] = w[(o * s.ic + c) * taps + t];
    }
  }
  return joined;
}

void fill_strip_bytes(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int8_t* x, int64_t row,
                      int32_t zero_point, ProductForm form, OffsetU8Fn offset, uint8_t* strip) {
  const auto convert = [&](const int8_t* in, ptrdiff_t step, uint8_t* out, int64_t pixels) {
    if (byte_offset(form) != 0) return offset({in, step, out, pixels});
    if (step == kBlock) {
      std::memcpy(out, in, size_t(pixels * kBlock));
      return;
    }
    for (int64_t p = 0; p < pixels; ++p) std::memcpy(out + p * kBlock, in + p * step, kBlock);
  };
  fill_strip(s, phase, blocks, x, row, uint8_t(zero_point + byte_offset(form)), convert, strip);
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
