#include "image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace lq {
namespace {

constexpr int kPrecisionBits = 32 - 8 - 2;  // 8 bits of pixel, 2 of head-room for the sum

/// For each output position: first input position, number of taps, and the taps (ksize apart), which sum to about 1 <<
/// kPrecisionBits.
struct Coefficients {
  int ksize = 0;
  std::vector<int> first, count;
  std::vector<int32_t> taps;
};

/// All arithmetic in double and in this order, as PIL's precompute_coeffs and normalize_coeffs_8bpc.
Coefficients make_coefficients(int in, int out) {
  const double scale = double(in) / out;
  const double filter_scale = std::max(scale, 1.0);
  const double support = 1.0 * filter_scale;  // the triangle filter reaches 1 to each side
  Coefficients c;
  c.ksize = int(std::ceil(support)) * 2 + 1;
  c.first.resize(out), c.count.resize(out), c.taps.assign(size_t(out) * c.ksize, 0);
  std::vector<double> weights(c.ksize);
  for (int x = 0; x < out; ++x) {
    const double center = (x + 0.5) * scale, inverse = 1.0 / filter_scale;
    const int first = std::max(int(center - support + 0.5), 0);
    const int count = std::min(int(center + support + 0.5), in) - first;
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      const double distance = std::fabs((i + first - center + 0.5) * inverse);
      weights[i] = distance < 1.0 ? 1.0 - distance : 0.0;
      sum += weights[i];
    }
    for (int i = 0; i < count; ++i) {
      const double weight = sum != 0.0 ? weights[i] / sum : weights[i];
      c.taps[size_t(x) * c.ksize + i] = int32_t(0.5 + weight * (1 << kPrecisionBits));
    }
    c.first[x] = first, c.count[x] = count;
  }
  return c;
}

uint8_t clip8(int32_t sum) { return uint8_t(std::clamp(sum >> kPrecisionBits, 0, 255)); }

Result<PixelBuffer> resize_rows(const PixelBuffer& image, int width, const Allocator& allocator) {
  const Coefficients c = make_coefficients(image.width, width);
  LQ_ASSIGN_OR_RETURN(PixelBuffer out, make_pixels(width, image.height, image.channels, allocator));
  const int channels = image.channels;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* source = image.row(y);
    uint8_t* target = out.row(y);
    for (int x = 0; x < width; ++x) {
      const int32_t* taps = c.taps.data() + size_t(x) * c.ksize;
      const uint8_t* p = source + size_t(c.first[x]) * channels;
      for (int ch = 0; ch < channels; ++ch) {
        int32_t sum = 1 << (kPrecisionBits - 1);
        for (int i = 0; i < c.count[x]; ++i) sum += p[i * channels + ch] * taps[i];
        target[x * channels + ch] = clip8(sum);
      }
    }
  }
  return out;
}

Result<PixelBuffer> resize_columns(const PixelBuffer& image, int height, const Allocator& allocator) {
  const Coefficients c = make_coefficients(image.height, height);
  LQ_ASSIGN_OR_RETURN(PixelBuffer out, make_pixels(image.width, height, image.channels, allocator));
  const int n = image.width * image.channels;
  std::vector<int32_t> sums(n);
  for (int y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), 1 << (kPrecisionBits - 1));
    for (int i = 0; i < c.count[y]; ++i) {
      const uint8_t* source = image.row(c.first[y] + i);
      const int32_t tap = c.taps[size_t(y) * c.ksize + i];
      for (int x = 0; x < n; ++x) sums[x] += source[x] * tap;
    }
    std::transform(sums.begin(), sums.end(), out.row(y), clip8);
  }
  return out;
}

/// Copies the part of `image` that falls onto the canvas when its top-left corner lies at (left, top), which may be
/// negative.
Result<PixelBuffer> place(const PixelBuffer& image, int width, int height, int left, int top,
                          const Allocator& allocator) {
  LQ_ASSIGN_OR_RETURN(PixelBuffer out, make_pixels(width, height, image.channels, allocator));
  std::memset(out.memory.data(), 0, out.memory.size());
  const int x0 = std::max(left, 0), x1 = std::min(left + image.width, width);
  if (x0 >= x1) return out;
  for (int y = std::max(top, 0); y < std::min(top + image.height, height); ++y) {
    std::memcpy(out.row(y) + size_t(x0) * image.channels, image.row(y - top) + size_t(x0 - left) * image.channels,
                size_t(x1 - x0) * image.channels);
  }
  return out;
}

/// Where an axis of `size` pixels begins inside a crop of `crop`: torchvision pads first (smaller half in front), then
/// crops at Python's round(), which is half to even.
int crop_offset(int size, int crop) {
  if (crop > size) return (crop - size) / 2;
  const int twice = size - crop, half = twice / 2;
  return -(twice % 2 == 0 ? half : half + half % 2);
}

}  // namespace

Result<PixelBuffer> resize_bilinear(PixelBuffer image, int width, int height, const Allocator& allocator) {
  if (image.width != width) {
    LQ_ASSIGN_OR_RETURN(image, resize_rows(image, width, allocator));
  }
  if (image.height != height) return resize_columns(image, height, allocator);
  return image;
}

Result<PixelBuffer> resize_shorter(PixelBuffer image, int size, const Allocator& allocator) {
  const int shorter = std::min(image.width, image.height), longer = std::max(image.width, image.height);
  const double other = double(int64_t(size) * longer) / shorter;
  if (other * size > double(kMaxPixels))
    return invalid_argument("resizing the shorter side gives more than 128 Mpixel; crop the image");
  const bool upright = image.width <= image.height;
  return resize_bilinear(std::move(image), upright ? size : int(other), upright ? int(other) : size, allocator);
}

Result<PixelBuffer> center_crop(const PixelBuffer& image, int width, int height, const Allocator& allocator) {
  return place(image, width, height, crop_offset(image.width, width), crop_offset(image.height, height), allocator);
}

Result<PixelBuffer> letterbox(PixelBuffer image, int width, int height, const Allocator& allocator) {
  // Ratio as a fraction: no rounding decides which side fits exactly.
  const bool wide = int64_t(image.width) * height >= int64_t(image.height) * width;
  const int64_t numerator = wide ? width : height, denominator = wide ? image.width : image.height;
  auto scaled = [&](int side) {
    return int(std::max<int64_t>((2 * side * numerator + denominator) / (2 * denominator), 1));
  };
  const int w = std::min(scaled(image.width), width), h = std::min(scaled(image.height), height);
  LQ_ASSIGN_OR_RETURN(const PixelBuffer fitted, resize_bilinear(std::move(image), w, h, allocator));
  return place(fitted, width, height, 0, 0, allocator);
}

}  // namespace lq
