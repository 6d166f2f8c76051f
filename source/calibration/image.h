// Images from untrusted bytes: JPEG, PNG, BMP, PPM, PGM.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "image/pixels.h"

namespace lq::calibration {

/// 8-bit pixels, interleaved (row, column, channel), rows without padding. channels is 1 or 3.
struct Image {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;
  const uint8_t* row(int y) const { return pixels.data() + size_t(y) * size_t(width) * size_t(channels); }
  uint8_t* row(int y) { return pixels.data() + size_t(y) * size_t(width) * size_t(channels); }
};
Image make_image(int width, int height, int channels);  // zeroed

PixelView view_of(const Image& image);               // valid as long as the image

/// Bound for untrusted files: 512 MB (and kMaxPixels).
inline constexpr size_t kMaxImageFileBytes = size_t(1) << 29;

/// Decodes by content, not by file name. Gray and gray+alpha give 1 channel, everything else 3 (R, G, B); alpha is
/// dropped without blending. 16-bit samples keep their high byte (v >> 8). JPEG: the EXIF orientation is applied when
/// asked. Truncated or damaged files are errors, also where a lenient decoder would fill in gray. `name` stands in
/// front of messages.
Result<Image> decode_image(const uint8_t* data, size_t size, const std::string& name, bool apply_exif);
Result<Image> read_image(const std::string& path, bool apply_exif);

/// True for .jpg .jpeg .png .bmp .ppm .pgm .pnm in any case.
bool is_image_name(const std::string& name);

/// Turns and mirrors so that an image with this EXIF orientation (1…8) stands upright.
Image apply_orientation(const Image& image, int orientation);

}  // namespace lq::calibration
