// PNG structure check (chunks, CRCs, size of the compressed data) and the PNM reader.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "calibration/image_check.h"

namespace lq::calibration {
namespace {

uint32_t be32(const uint8_t* p) { return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | p[3]; }

/// Inflates piece by piece into nothing: completeness, Adler-32 and a bound on the output.
class InflateCheck {
 public:
  explicit InflateCheck(uint64_t limit) : limit_(limit) { ok_ = inflateInit(&stream_) == Z_OK; }
  ~InflateCheck() { inflateEnd(&stream_); }
  InflateCheck(const InflateCheck&) = delete;
  InflateCheck& operator=(const InflateCheck&) = delete;

  Status feed(const uint8_t* data, size_t size) {
    if (!ok_) return out_of_memory("zlib");
    stream_.next_in = const_cast<uint8_t*>(data), stream_.avail_in = uInt(size);
    while (stream_.avail_in > 0 && !done_) {
      uint8_t sink[16384];
      stream_.next_out = sink, stream_.avail_out = sizeof(sink);
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END) return corrupt("damaged image data");
      done_ = code == Z_STREAM_END;
      if (stream_.total_out > limit_) return corrupt("more image data than the header announces");
    }
    return {};
  }
  bool done() const { return done_; }

 private:
  z_stream stream_{};
  uint64_t limit_;
  bool ok_ = false, done_ = false;
};

/// Most bytes the raw image data can have: every interlace pass adds at most a filter byte and a partial byte a row.
Result<uint64_t> png_data_limit(const uint8_t* ihdr) {
  const uint64_t width = be32(ihdr), height = be32(ihdr + 4), depth = ihdr[8];
  if (width == 0 || height == 0 || width > (1u << 16) || height > (1u << 16) || depth > 16)
    return corrupt("bad PNG header");
  return (width * 4 * std::max<uint64_t>(depth, 1) / 8 + 2) * height * 2 + 64;
}

}  // namespace

Status check_png(const uint8_t* data, size_t size) {
  if (size < 33 || std::memcmp(data + 12, "IHDR", 4) != 0 || be32(data + 8) != 13)
    return corrupt("truncated: PNG header incomplete");
  LQ_ASSIGN_OR_RETURN(const uint64_t limit, png_data_limit(data + 16));
  InflateCheck pixels(limit);
  size_t pos = 8;
  while (true) {
    if (size - pos < 12) return corrupt("truncated: the end-of-image chunk is missing");
    const uint64_t length = be32(data + pos);
    const uint8_t* type = data + pos + 4;
    if (length > size - pos - 12) return corrupt("truncated: a chunk reaches past the end");
    const bool critical = (type[0] & 0x20) == 0;
    if (critical && crc32(0, type, uInt(length + 4)) != be32(type + 4 + length))
      return corrupt("damaged: wrong checksum of a PNG chunk");
    if (std::memcmp(type, "IDAT", 4) == 0) LQ_RETURN_IF_ERROR(pixels.feed(type + 4, length));
    if (std::memcmp(type, "IEND", 4) == 0) break;
    pos += 12 + length;
  }
  if (!pixels.done()) return corrupt("truncated: the image data is incomplete");
  return {};
}

namespace {

/// Header numbers of PNM: decimal, separated by white space, comments from '#' to the end of the line.
class PnmText {
 public:
  PnmText(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool next(uint32_t limit, uint32_t& value) {
    while (pos_ < size_ && (is_space(data_[pos_]) || data_[pos_] == '#')) {
      if (data_[pos_] == '#')
        while (pos_ < size_ && data_[pos_] != '\n') ++pos_;
      else
        ++pos_;
    }
    if (pos_ >= size_ || !is_digit(data_[pos_])) return false;
    for (value = 0; pos_ < size_ && is_digit(data_[pos_]); ++pos_) {
      value = value * 10 + (data_[pos_] - '0');
      if (value > limit) return false;
    }
    return true;
  }
  /// Exactly one white space stands between the header and binary data.
  bool skip_one_space() { return pos_ < size_ && is_space(data_[pos_]) && ++pos_; }
  size_t pos_ = 2;

 private:
  static bool is_space(uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }
  static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
  const uint8_t* data_;
  size_t size_;
};

uint8_t scale_sample(uint32_t value, uint32_t maxval) {
  if (maxval == 255) return uint8_t(value);
  if (maxval == 65535) return uint8_t(value >> 8);  // as for 16-bit PNG
  return uint8_t((uint64_t(value) * 255 + maxval / 2) / maxval);
}

}  // namespace

Result<Image> decode_pnm(const uint8_t* data, size_t size) {
  const bool binary = data[1] >= '5', color = data[1] == '3' || data[1] == '6';
  PnmText text(data, size);
  uint32_t width = 0, height = 0, maxval = 0;
  if (!text.next(1 << 16, width) || !text.next(1 << 16, height) || !text.next(65535, maxval) || width == 0 ||
      height == 0 || maxval == 0) {
    return corrupt("bad PNM header");
  }
  if (int64_t(width) * height > kMaxPixels) return invalid_argument("more than 128 Mpixel; make the image smaller");
  const int channels = color ? 3 : 1;
  const size_t count = size_t(width) * height * size_t(channels), bytes = maxval > 255 ? 2 : 1;
  // ASCII samples take at least two characters but for the last: checked before memory is taken.
  if (binary && (!text.skip_one_space() || count * bytes > size - text.pos_))
    return corrupt("truncated: pixel rows are missing");
  if (!binary && count > size) return corrupt("truncated: pixel rows are missing");
  Image image = make_image(int(width), int(height), channels);
  for (size_t i = 0; i < count; ++i) {
    uint32_t value = 0;
    if (binary) {
      const uint8_t* p = data + text.pos_ + i * bytes;
      value = bytes == 2 ? uint32_t(p[0]) << 8 | p[1] : p[0];
    } else if (!text.next(maxval, value)) {
      return corrupt("truncated or damaged: bad pixel value");
    }
    if (value > maxval) return corrupt("damaged: a pixel exceeds the header's maximum");
    image.pixels[i] = scale_sample(value, maxval);
  }
  return image;
}

}  // namespace lq::calibration
