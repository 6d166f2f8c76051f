#include "calibration/image.h"

#include <stb/stb_image.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "calibration/image_check.h"

namespace lq::calibration {
namespace {

enum class Kind { kUnknown, kJpeg, kPng, kBmp, kPnm };

Kind sniff(const uint8_t* d, size_t size) {
  if (size >= 3 && d[0] == 0xFF && d[1] == 0xD8 && d[2] == 0xFF) return Kind::kJpeg;
  if (size >= 8 && std::memcmp(d, "\x89PNG\r\n\x1a\n", 8) == 0) return Kind::kPng;
  if (size >= 2 && d[0] == 'B' && d[1] == 'M') return Kind::kBmp;
  if (size >= 2 && d[0] == 'P' && (d[1] == '2' || d[1] == '3' || d[1] == '5' || d[1] == '6')) return Kind::kPnm;
  return Kind::kUnknown;
}

std::string stb_reason() {
  const char* reason = stbi_failure_reason();
  return reason ? reason : "unknown reason";
}

/// stb_image's decoder behind our limits; drops alpha.
Result<Image> decode_with_stb(const uint8_t* data, size_t size) {
  int width = 0, height = 0, components = 0;
  if (!stbi_info_from_memory(data, int(size), &width, &height, &components))
    return corrupt("cannot be decoded: " + stb_reason());
  if (width <= 0 || height <= 0) return corrupt("the image is empty");
  if (int64_t(width) * height > kMaxPixels) return invalid_argument("more than 128 Mpixel; make the image smaller");
  std::unique_ptr<stbi_uc, void (*)(void*)> decoded(
      stbi_load_from_memory(data, int(size), &width, &height, &components, 0), stbi_image_free);
  if (!decoded) return corrupt("cannot be decoded: " + stb_reason());
  Image image = make_image(width, height, components >= 3 ? 3 : 1);
  const size_t count = size_t(width) * size_t(height);
  for (size_t i = 0; i < count; ++i) {
    for (int c = 0; c < image.channels; ++c) image.pixels[i * image.channels + c] = decoded.get()[i * components + c];
  }
  return image;
}

Result<Image> decode_jpeg(const uint8_t* data, size_t size, bool apply_exif) {
  LQ_ASSIGN_OR_RETURN(const JpegScan scan, check_jpeg(data, size));
  auto image = decode_with_stb(data, size);
  if (!image.ok()) return image;
  const std::vector<uint8_t> guarded = guard_jpeg_scans(data, size, scan);
  const auto check = decode_with_stb(guarded.data(), guarded.size());
  if (!check.ok() || check->pixels != image->pixels) return corrupt("truncated: the image data ends early");
  if (!apply_exif || scan.orientation == 1) return image;
  return apply_orientation(*image, scan.orientation);
}

Result<Image> decode(const uint8_t* data, size_t size, bool apply_exif) {
  if (size == 0) return corrupt("the file is empty");
  if (size > kMaxImageFileBytes) return invalid_argument("the file is larger than 512 MB");
  switch (sniff(data, size)) {
    case Kind::kJpeg:
      return decode_jpeg(data, size, apply_exif);
    case Kind::kPng:
      LQ_RETURN_IF_ERROR(check_png(data, size));
      return decode_with_stb(data, size);
    case Kind::kBmp:
      LQ_RETURN_IF_ERROR(check_bmp(data, size));
      return decode_with_stb(data, size);
    case Kind::kPnm:
      return decode_pnm(data, size);
    case Kind::kUnknown:
      break;
  }
  return corrupt("not a JPEG, PNG, BMP, PPM or PGM image");
}

}  // namespace

Image make_image(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  image.pixels.resize(size_t(width) * size_t(height) * size_t(channels));
  return image;
}

PixelView view_of(const Image& image) {
  const PixelFormat format = image.channels == 1 ? PixelFormat::kGray : PixelFormat::kRgb;
  return {image.pixels.data(), image.width, image.height, size_t(image.width) * size_t(image.channels), format};
}

Result<Image> decode_image(const uint8_t* data, size_t size, const std::string& name, bool apply_exif) {
  auto image = decode(data, size, apply_exif);
  if (!image.ok()) return image.status().with_context(name);
  return image;
}

Result<Image> read_image(const std::string& path, bool apply_exif) {
  LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
  return decode_image(bytes.data(), bytes.size(), path, apply_exif);
}

bool is_image_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string extension = name.substr(dot + 1);
  for (char& c : extension) c = char(std::tolower(static_cast<unsigned char>(c)));
  for (const char* known : {"jpg", "jpeg", "png", "bmp", "ppm", "pgm", "pnm"}) {
    if (extension == known) return true;
  }
  return false;
}

Image apply_orientation(const Image& image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool swapped = orientation >= 5;
  Image out = make_image(swapped ? image.height : image.width, swapped ? image.width : image.height, image.channels);
  const int w = image.width, h = image.height;
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      int sx = x, sy = y;  // where the upright pixel (x, y) is stored; TIFF 6.0, tag 274
      switch (orientation) {
        case 2:
          sx = w - 1 - x;
          break;  // mirrored
        case 3:
          sx = w - 1 - x, sy = h - 1 - y;
          break;  // 180 degrees
        case 4:
          sy = h - 1 - y;
          break;  // upside down, mirrored
        case 5:
          sx = y, sy = x;
          break;  // transposed
        case 6:
          sx = y, sy = h - 1 - x;
          break;  // stored turned left: turn right
        case 7:
          sx = w - 1 - y, sy = h - 1 - x;
          break;  // anti-transposed
        case 8:
          sx = w - 1 - y, sy = x;
          break;  // stored turned right: turn left
      }
      std::memcpy(out.row(y) + size_t(x) * out.channels, image.row(sy) + size_t(sx) * image.channels,
                  size_t(image.channels));
    }
  }
  return out;
}

}  // namespace lq::calibration
