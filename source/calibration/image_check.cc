#include "calibration/image_check.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace lq::calibration {
namespace {

uint32_t be16(const uint8_t* p) { return uint32_t(p[0]) << 8 | p[1]; }
uint32_t be32(const uint8_t* p) { return be16(p) << 16 | be16(p + 2); }
uint32_t le16(const uint8_t* p) { return uint32_t(p[1]) << 8 | p[0]; }
uint32_t le32(const uint8_t* p) { return le16(p + 2) << 16 | le16(p); }

/// What the marker walk needs to know of the frame: to count restart intervals and find components without a scan.
struct JpegFrame {
  struct Component {
    uint8_t id = 0, h = 1, v = 1;
    bool scanned = false;
  };
  uint32_t width = 0, height = 0, h_max = 1, v_max = 1, restart_interval = 0;
  std::vector<Component> components;
};

Status parse_frame(const uint8_t* p, size_t length, JpegFrame& frame) {
  if (!frame.components.empty()) return corrupt("two frame headers");
  if (length < 6 || length < 6 + 3 * size_t(p[5])) return corrupt("frame header too short");
  frame.height = be16(p + 1), frame.width = be16(p + 3);
  if (frame.width == 0 || frame.height == 0) return corrupt("frame without width or height");
  for (int i = 0; i < p[5]; ++i) {
    const uint8_t* c = p + 6 + 3 * i;
    const JpegFrame::Component component{c[0], uint8_t(c[1] >> 4), uint8_t(c[1] & 15), false};
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4)
      return corrupt("bad sampling factors");
    frame.h_max = std::max<uint32_t>(frame.h_max, component.h),
    frame.v_max = std::max<uint32_t>(frame.v_max, component.v);
    frame.components.push_back(component);
  }
  return {};
}

/// Marks the scan's components; returns how many restart markers it must hold.
Result<uint32_t> parse_scan_header(const uint8_t* p, size_t length, JpegFrame& frame) {
  if (frame.components.empty()) return corrupt("scan before the frame header");
  if (length < 1 || length < 1 + 2 * size_t(p[0])) return corrupt("scan header too short");
  auto ceil_div = [](uint64_t a, uint64_t b) { return (a + b - 1) / b; };
  uint64_t mcus = ceil_div(frame.width, 8 * frame.h_max) * ceil_div(frame.height, 8 * frame.v_max);
  for (int i = 0; i < p[0]; ++i) {
    for (auto& c : frame.components) {
      if (c.id != p[1 + 2 * i]) continue;
      c.scanned = true;
      if (p[0] == 1) {  // not interleaved: one block is one MCU (T.81 A.2.2)
        mcus = ceil_div(ceil_div(uint64_t(frame.width) * c.h, frame.h_max), 8) *
               ceil_div(ceil_div(uint64_t(frame.height) * c.v, frame.v_max), 8);
      }
    }
  }
  return frame.restart_interval == 0 ? 0u : uint32_t(ceil_div(mcus, frame.restart_interval) - 1);
}

const char* const kNoEoi = "truncated: the end-of-image marker is missing";

/// From the first entropy-coded byte to the marker that ends the scan; counts the restart markers on the way.
Result<size_t> find_scan_end(const uint8_t* data, size_t size, size_t pos, uint32_t& restarts) {
  for (; pos + 1 < size; ++pos) {
    if (data[pos] != 0xFF) continue;
    const uint8_t next = data[pos + 1];
    if (next == 0x00) {
      ++pos;  // a stuffed 0xFF of the data
    } else if (next >= 0xD0 && next <= 0xD7) {
      ++restarts, ++pos;
    } else if (next != 0xFF) {  // 0xFF 0xFF: fill bytes
      return pos;
    }
  }
  return corrupt(kNoEoi);
}

Status check_all_scanned(const JpegFrame& frame) {
  if (frame.components.empty()) return corrupt("no frame header");
  for (const auto& c : frame.components) {
    if (!c.scanned) return corrupt("a color component has no data");
  }
  return {};
}

}  // namespace

Result<JpegScan> check_jpeg(const uint8_t* data, size_t size) {
  JpegScan result;
  JpegFrame frame;
  size_t pos = 2;
  while (true) {
    while (pos < size && data[pos] != 0xFF) ++pos;
    while (pos < size && data[pos] == 0xFF) ++pos;
    if (pos >= size) return corrupt(kNoEoi);
    const uint8_t marker = data[pos++];
    if (marker == 0xD9) break;
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;  // no segment follows
    if (size - pos < 2 || be16(data + pos) < 2 || be16(data + pos) > size - pos)
      return corrupt("truncated: a segment reaches past the end");
    const uint8_t* body = data + pos + 2;
    const size_t length = be16(data + pos) - 2;
    pos += 2 + length;
    if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) {
      LQ_RETURN_IF_ERROR(parse_frame(body, length, frame));
    } else if (marker == 0xDD && length >= 2) {
      frame.restart_interval = be16(body);
    } else if (marker == 0xE1 && length >= 6 && std::memcmp(body, "Exif\0\0", 6) == 0) {
      result.orientation = exif_orientation(body + 6, length - 6);
    } else if (marker == 0xDA) {
      LQ_ASSIGN_OR_RETURN(const uint32_t expected, parse_scan_header(body, length, frame));
      uint32_t restarts = 0;
      LQ_ASSIGN_OR_RETURN(pos, find_scan_end(data, size, pos, restarts));
      if (restarts < expected) return corrupt("damaged: restart intervals are missing");
      result.scan_ends.push_back(pos);
    }
  }
  LQ_RETURN_IF_ERROR(check_all_scanned(frame));
  return result;
}

std::vector<uint8_t> guard_jpeg_scans(const uint8_t* data, size_t size, const JpegScan& scan) {
  constexpr size_t kGuardBytes = 8;  // more than a decoder reads ahead
  std::vector<uint8_t> out;
  out.reserve(size + scan.scan_ends.size() * kGuardBytes);
  size_t begin = 0;
  for (size_t end : scan.scan_ends) {
    out.insert(out.end(), data + begin, data + end);
    out.insert(out.end(), kGuardBytes, uint8_t(0xFE));
    begin = end;
  }
  out.insert(out.end(), data + begin, data + size);
  return out;
}

int exif_orientation(const uint8_t* tiff, size_t size) {
  constexpr uint32_t kTagOrientation = 0x0112, kTypeShort = 3;
  if (size < 8) return 1;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I';
  if (!little && !(tiff[0] == 'M' && tiff[1] == 'M')) return 1;
  auto u16 = [&](size_t at) { return little ? le16(tiff + at) : be16(tiff + at); };
  auto u32 = [&](size_t at) { return little ? le32(tiff + at) : be32(tiff + at); };
  const size_t ifd = u32(4);
  if (u16(2) != 42 || ifd > size - 2) return 1;
  const size_t entries = std::min<size_t>(u16(ifd), (size - ifd - 2) / 12);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = ifd + 2 + 12 * i;
    if (u16(at) != kTagOrientation) continue;
    const uint32_t value = u16(at + 8);  // a SHORT sits left-justified in the value field
    return u16(at + 2) == kTypeShort && u32(at + 4) == 1 && value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

Status check_bmp(const uint8_t* data, size_t size) {
  if (size < 26) return corrupt("truncated: BMP header incomplete");
  const uint64_t offset = le32(data + 10);
  const bool os2 = le32(data + 14) == 12;
  if (!os2 && size < 34) return corrupt("truncated: BMP header incomplete");
  const int64_t width = os2 ? int64_t(le16(data + 18)) : int64_t(int32_t(le32(data + 18)));
  int64_t height = os2 ? int64_t(le16(data + 20)) : int64_t(int32_t(le32(data + 22)));
  const uint64_t bits = le16(data + (os2 ? 24 : 28));
  if (height < 0) height = -height;  // rows from the top
  if (width <= 0 || height == 0 || width > 65536 || height > 65536 || bits == 0 || bits > 32)
    return corrupt("bad BMP header");
  const uint64_t stride = (uint64_t(width) * bits + 31) / 32 * 4;
  const uint64_t need = offset + stride * (uint64_t(height) - 1) + (uint64_t(width) * bits + 7) / 8;
  if (need > size) return corrupt("truncated: pixel rows are missing");
  return {};
}

}  // namespace lq::calibration
