// Naive NCHW convolutions and products, written from docs/NUMERICS.md: the oracle of the layer tests.
#pragma once
#include "layer_harness.h"

namespace lq::test {

struct ConvCase {
  int64_t n = 1, ic = 1, oc = 1, h = 1, w = 1, kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0, groups = 1, extra_h = 0, extra_w = 0;  // extra: output_padding
  bool transposed = false, one_d = false;
  int64_t oh() const {
    return transposed ? (h - 1) * sh - top - bottom + (kh - 1) * dh + 1 + extra_h
                      : (h + top + bottom - (kh - 1) * dh - 1) / sh + 1;
  }
  int64_t ow() const {
    return transposed ? (w - 1) * sw - left - right + (kw - 1) * dw + 1 + extra_w
                      : (w + left + right - (kw - 1) * dw - 1) / sw + 1;
  }
  bool fits() const {
    if (transposed) return oh() >= 1 && ow() >= 1;
    return h + top + bottom >= (kh - 1) * dh + 1 && w + left + right >= (kw - 1) * dw + 1;
  }
  int64_t icg() const { return ic / groups; }
  int64_t ocg() const { return oc / groups; }
  Shape spatial(int64_t a, int64_t b) const { return one_d ? Shape{a} : Shape{a, b}; }
  Shape with(int64_t a, int64_t b, int64_t c, int64_t d) const { return one_d ? Shape{a, b, c} : Shape{a, b, c, d}; }
  Shape x_shape() const { return with(n, ic, h, w); }
  Shape w_shape() const { return transposed ? with(ic, ocg(), kh, kw) : with(oc, icg(), kh, kw); }
  Shape y_shape() const { return with(n, oc, oh(), ow()); }
  int64_t x_count() const { return n * ic * h * w; }
  int64_t w_count() const { return oc * icg() * kh * kw; }
  /// Canonical index of weight (output channel, input channel in the group, kernel row, kernel column).
  int64_t weight(int64_t o, int64_t i, int64_t r, int64_t c) const {
    const int64_t g = o / ocg();
    return transposed ? (((g * icg() + i) * ocg() + o % ocg()) * kh + r) * kw + c : ((o * icg() + i) * kh + r) * kw + c;
  }
  void set_attrs(Node& node) const {
    auto& a = mutable_attrs<schema::ConvAttrsT>(node);
    const auto ints = [&](int64_t p, int64_t q) {
      return one_d ? std::vector<int>{int(p)} : std::vector<int>{int(p), int(q)};
    };
    a.kernel_shape = ints(kh, kw), a.strides = ints(sh, sw), a.dilations = ints(dh, dw), a.groups = int(groups);
    a.pads = one_d ? std::vector<int>{int(top), int(bottom)}
                   : std::vector<int>{int(top), int(left), int(bottom), int(right)};
    if (transposed) a.output_padding = ints(extra_h, extra_w);
  }
  std::string text() const {
    std::string s = transposed ? "transposed " : "";
    for (int64_t v : {n, ic, oc, h, w, kh, kw, sh, sw, dh, dw, top, left, bottom, right, groups, extra_h, extra_w})
      s += std::to_string(v) + " ";
    return s;
  }
};

/// Calls f(input channel in the group, weight index, x index or −1) for the terms of one output in canonical order:
/// block of 8 input channels of the group, kernel row, kernel column, channel.
template <typename F>
void for_each_term(const ConvCase& c, int64_t image, int64_t o, int64_t y, int64_t x, F&& f) {
  for (int64_t block = 0; block < c.icg(); block += 8) {
    for (int64_t r = 0; r < c.kh; ++r) {
      for (int64_t s = 0; s < c.kw; ++s) {
        int64_t in_y = y * c.sh + r * c.dh - c.top, in_x = x * c.sw + s * c.dw - c.left;
        bool inside = true;
        if (c.transposed) {
          const int64_t ny = y + c.top - r * c.dh, nx = x + c.left - s * c.dw;
          inside = ny % c.sh == 0 && nx % c.sw == 0;
          in_y = ny / c.sh, in_x = nx / c.sw;
          inside = inside && ny >= 0 && nx >= 0;
        }
        inside = inside && in_y >= 0 && in_y < c.h && in_x >= 0 && in_x < c.w;
        for (int64_t i = block; i < std::min(block + 8, c.icg()); ++i) {
          const int64_t channel = o / c.ocg() * c.icg() + i;
          f(c.weight(o, i, r, s), inside ? ((image * c.ic + channel) * c.h + in_y) * c.w + in_x : int64_t(-1));
        }
      }
    }
  }
}

template <typename F>
void for_each_output(const ConvCase& c, F&& f) {
  for (int64_t n = 0; n < c.n; ++n) {
    for (int64_t o = 0; o < c.oc; ++o) {
      for (int64_t y = 0; y < c.oh(); ++y) {
        for (int64_t x = 0; x < c.ow(); ++x) f(n, o, y, x);
      }
    }
  }
}

inline float naive_clamp(float v, const std::optional<ValueRange>& clamp) {
  return clamp ? clamp_nan_to_low(v, clamp->min, clamp->max) : v;
}

/// Random geometry: strides beyond the kernel, uneven pads, dilation, groups of odd sizes, depthwise.
inline ConvCase random_conv(Random& r, bool transposed) {
  for (;;) {
    ConvCase c;
    c.transposed = transposed;
    c.one_d = r.chance(15);
    c.n = r.chance(80) ? 1 : 2;
    c.groups = r.chance(60) ? 1 : r.between(2, 6);
    const int64_t most = c.groups == 1 ? 70 : 20;
    c.ic = c.groups * r.between(1, r.chance(50) ? most : 9), c.oc = c.groups * r.between(1, r.chance(50) ? most : 9);
    if (r.chance(20)) c.groups = c.ic = c.oc = r.between(1, 70);  // depthwise
    c.h = r.between(1, 20), c.w = r.between(1, 20);
    c.kh = r.between(1, r.chance(70) ? 3 : 7), c.kw = r.between(1, r.chance(70) ? 3 : 7);
    c.sh = r.between(1, r.chance(80) ? 2 : 5), c.sw = r.between(1, r.chance(80) ? 2 : 5);
    if (r.chance(25)) c.dh = r.between(1, 3), c.dw = r.between(1, 3);
    if (r.chance(60))
      c.top = r.between(0, 3), c.left = r.between(0, 3), c.bottom = r.between(0, 3), c.right = r.between(0, 3);
    if (transposed && r.chance(40)) c.extra_h = r.between(0, c.sh - 1), c.extra_w = r.between(0, c.sw - 1);
    if (c.one_d) c.w = c.kw = c.sw = c.dw = 1, c.left = c.right = c.extra_w = 0;
    if (c.fits()) return c;
  }
}

}  // namespace lq::test
