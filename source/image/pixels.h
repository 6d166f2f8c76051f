// 8-bit images: the caller's pixels as a view, ours as a buffer.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/status.h"
#include "model_generated.h"

namespace lq {

/// Bounds of an image: 128 Mpixel, 65536 a side.
inline constexpr int64_t kMaxPixels = int64_t(1) << 27;
inline constexpr int kMaxImageSide = 65536;

/// Order of the bytes of one pixel.
enum class PixelFormat : uint8_t { kGray = 0, kRgb, kBgr, kRgba, kBgra };
int bytes_per_pixel(PixelFormat format);

/// Pixels that belong to somebody else. Row y begins at pixels + y * stride.
struct PixelView {
  const uint8_t* pixels = nullptr;
  int width = 0, height = 0;
  size_t stride = 0;  // bytes from row to row, at least width * bytes_per_pixel(format)
  PixelFormat format = PixelFormat::kRgb;
};

/// Interleaved (row, column, channel), rows without padding; 1 or 3 channels. Move-only.
struct PixelBuffer {
  int width = 0, height = 0, channels = 0;
  Buffer memory;
  size_t row_bytes() const { return size_t(width) * size_t(channels); }
  const uint8_t* row(int y) const { return memory.data() + size_t(y) * row_bytes(); }
  uint8_t* row(int y) { return memory.data() + size_t(y) * row_bytes(); }
};
/// Uninitialised. Fails with kOutOfMemory.
Result<PixelBuffer> make_pixels(int width, int height, int channels, const Allocator& allocator);

/// To the channels `color` means: Rgb and Bgr 3, Gray 1. Gray from color is ITU-R 601 as PIL's "L":
/// (19595 R + 38470 G + 7471 B + 0x8000) >> 16. Color from gray repeats the value. Alpha is dropped, not blended.
Result<PixelBuffer> convert_color(const PixelView& view, schema::Color color,
                                  const Allocator& allocator = default_allocator());

}  // namespace lq
