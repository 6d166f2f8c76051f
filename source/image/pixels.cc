#include "image/pixels.h"

#include <cstring>
#include <string>

namespace lq {
namespace {

/// Where red, green and blue stand in a pixel.
struct Offsets {
  int red, green, blue;
};

Offsets offsets_of(PixelFormat format) {
  if (format == PixelFormat::kGray) return {0, 0, 0};
  return format == PixelFormat::kBgr || format == PixelFormat::kBgra ? Offsets{2, 1, 0} : Offsets{0, 1, 2};
}

Status check_view(const PixelView& view) {
  const std::string size = std::to_string(view.width) + "x" + std::to_string(view.height);
  if (view.pixels == nullptr || view.width <= 0 || view.height <= 0) return invalid_argument("the image is empty");
  if (view.width > kMaxImageSide || view.height > kMaxImageSide || int64_t(view.width) * view.height > kMaxPixels)
    return invalid_argument("the image of " + size + " has more than 65536 pixels a side or 128 Mpixel");
  if (view.stride < size_t(view.width) * size_t(bytes_per_pixel(view.format)))
    return invalid_argument("the stride of " + std::to_string(view.stride) + " bytes is less than a row of " +
                            std::to_string(view.width) + " pixels");
  return {};
}

}  // namespace

int bytes_per_pixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray:
      return 1;
    case PixelFormat::kRgb:
    case PixelFormat::kBgr:
      return 3;
    default:
      return 4;
  }
}

Result<PixelBuffer> make_pixels(int width, int height, int channels, const Allocator& allocator) {
  PixelBuffer image{width, height, channels, {}};
  const size_t bytes = size_t(width) * size_t(height) * size_t(channels);
  LQ_ASSIGN_OR_RETURN(image.memory, Buffer::allocate(bytes, "an image", allocator));
  return image;
}

Result<PixelBuffer> convert_color(const PixelView& view, schema::Color color, const Allocator& allocator) {
  LQ_RETURN_IF_ERROR(check_view(view));
  const int channels = color == schema::Color::Gray ? 1 : 3, step = bytes_per_pixel(view.format);
  LQ_ASSIGN_OR_RETURN(PixelBuffer out, make_pixels(view.width, view.height, channels, allocator));
  const Offsets at = offsets_of(view.format);
  const bool bgr = color == schema::Color::Bgr;
  const int first = bgr ? at.blue : at.red, last = bgr ? at.red : at.blue;
  const bool as_is = channels == step && (channels == 1 || first == 0);
  for (int y = 0; y < view.height; ++y) {
    const uint8_t* p = view.pixels + size_t(y) * view.stride;
    uint8_t* q = out.row(y);
    if (as_is) {
      std::memcpy(q, p, out.row_bytes());
    } else if (channels == 3) {
      for (int x = 0; x < view.width; ++x, p += step, q += 3) q[0] = p[first], q[1] = p[at.green], q[2] = p[last];
    } else {
      for (int x = 0; x < view.width; ++x, p += step)
        q[x] = uint8_t((19595u * p[at.red] + 38470u * p[at.green] + 7471u * p[at.blue] + 0x8000u) >> 16);
    }
  }
  return out;
}

}  // namespace lq
