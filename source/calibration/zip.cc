#include "calibration/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace lq::calibration {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndRecord = 0x06054b50;
constexpr uint32_t kZip64EndRecord = 0x06064b50, kZip64Locator = 0x07064b50;
constexpr size_t kEndRecordSize = 22, kCentralSize = 46, kLocalSize = 30, kLocatorSize = 20;
constexpr uint64_t kMaxMember = uint64_t(1) << 32;  // as kMaxTensorBytes
constexpr uint64_t kMaxDeflateRatio = 1032;         // deflate cannot do better: 258 bytes from 2 bits

/// Little-endian reads; callers have checked the bounds.
uint64_t le(const uint8_t* p, int bytes) {
  uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; --i) v = v << 8 | p[i];
  return v;
}
uint16_t le16(const uint8_t* p) { return uint16_t(le(p, 2)); }
uint32_t le32(const uint8_t* p) { return uint32_t(le(p, 4)); }

/// Sizes and offset that do not fit 32 bits stand in extra field 1, in this order, each only if its short form is all
/// ones.
bool apply_zip64_extra(const uint8_t* extra, size_t length, ZipEntry& entry) {
  while (length >= 4) {
    const size_t id = le16(extra), n = le16(extra + 2);
    if (n > length - 4) return false;
    if (id == 1) {
      const uint8_t* p = extra + 4;
      size_t left = n;
      for (uint64_t* field : {&entry.size, &entry.compressed_size, &entry.local_offset}) {
        if (*field != 0xFFFFFFFFu) continue;
        if (left < 8) return false;
        *field = le(p, 8);
        p += 8, left -= 8;
      }
      return true;
    }
    extra += 4 + n, length -= 4 + n;
  }
  return entry.size != 0xFFFFFFFFu && entry.compressed_size != 0xFFFFFFFFu && entry.local_offset != 0xFFFFFFFFu;
}

struct Directory {
  uint64_t offset = 0, count = 0;
};

Result<Directory> find_directory(const uint8_t* data, size_t size) {
  if (size < kEndRecordSize) return corrupt("truncated .npz (zip) file");
  const size_t lowest = size - std::min<size_t>(size, kEndRecordSize + 0xFFFF);  // a comment may follow
  for (size_t pos = size - kEndRecordSize;; --pos) {
    if (le32(data + pos) == kEndRecord) {
      Directory d{le32(data + pos + 16), le16(data + pos + 10)};
      if (le16(data + pos + 4) != 0) return unsupported("multi-disk zip file");
      if ((d.offset == 0xFFFFFFFFu || d.count == 0xFFFFu) && pos >= kLocatorSize &&
          le32(data + pos - kLocatorSize) == kZip64Locator) {
        const uint64_t at = le(data + pos - kLocatorSize + 8, 8);
        if (at > size || size - at < 56 || le32(data + at) != kZip64EndRecord) return corrupt("bad zip64 directory");
        d = {le(data + at + 48, 8), le(data + at + 32, 8)};
      }
      return d;
    }
    if (pos == lowest) break;
  }
  return corrupt("not a .npz (zip) file, or truncated: it has no directory");
}

}  // namespace

Result<std::vector<ZipEntry>> list_zip(const uint8_t* data, size_t size) {
  LQ_ASSIGN_OR_RETURN(const Directory directory, find_directory(data, size));
  std::vector<ZipEntry> entries;
  uint64_t pos = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (pos > size || size - pos < kCentralSize || le32(data + pos) != kCentralHeader)
      return corrupt("bad zip directory");
    const uint8_t* p = data + pos;
    const size_t name = le16(p + 28), extra = le16(p + 30), comment = le16(p + 32);
    if (name + extra + comment > size - pos - kCentralSize) return corrupt("bad zip directory");
    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char*>(p + kCentralSize), name);
    entry.method = le16(p + 10), entry.crc = le32(p + 16);
    entry.compressed_size = le32(p + 20), entry.size = le32(p + 24), entry.local_offset = le32(p + 42);
    if (le16(p + 8) & 1) return unsupported("encrypted zip member '" + entry.name + "'");
    if (!apply_zip64_extra(p + kCentralSize + name, extra, entry))
      return corrupt("bad zip64 sizes of '" + entry.name + "'");
    entries.push_back(std::move(entry));
    pos += kCentralSize + name + extra + comment;
  }
  return entries;
}

Result<std::vector<uint8_t>> read_zip_entry(const uint8_t* data, size_t size, const ZipEntry& entry) {
  const std::string what = "zip member '" + entry.name + "'";
  if (entry.local_offset > size || size - entry.local_offset < kLocalSize ||
      le32(data + entry.local_offset) != kLocalHeader)
    return corrupt(what + " has no header");
  const uint8_t* local = data + entry.local_offset;
  const uint64_t start = entry.local_offset + kLocalSize + le16(local + 26) + le16(local + 28);
  if (start > size || entry.compressed_size > size - start) return corrupt(what + " is truncated");
  if (entry.method != 0 && entry.method != 8)
    return unsupported(what + " uses compression method " + std::to_string(entry.method));
  // Checked before memory is taken: a small file must not ask for a large buffer.
  const uint64_t most = entry.method == 0 ? entry.compressed_size : entry.compressed_size * kMaxDeflateRatio + 64;
  if (entry.size > most || entry.size > kMaxMember) return corrupt(what + " has an impossible size");
  std::vector<uint8_t> out(entry.size);
  if (entry.method == 0) {
    if (entry.size != entry.compressed_size) return corrupt(what + " has an impossible size");
    if (!out.empty()) std::memcpy(out.data(), data + start, out.size());
  } else {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return out_of_memory("zlib");
    uint8_t sink = 0;  // zlib wants a pointer even for an empty member
    stream.next_in = const_cast<uint8_t*>(data + start), stream.next_out = out.empty() ? &sink : out.data();
    uint64_t in_left = entry.compressed_size, out_left = out.size();
    int code = Z_OK;
    while (code == Z_OK) {  // avail_* are 32 bits wide
      const uInt in_now = uInt(std::min<uint64_t>(in_left, 1u << 30)),
                 out_now = uInt(std::min<uint64_t>(out_left, 1u << 30));
      stream.avail_in = in_now, stream.avail_out = out_now;
      code = inflate(&stream, Z_NO_FLUSH);
      in_left -= in_now - stream.avail_in, out_left -= out_now - stream.avail_out;
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END || out_left != 0) return corrupt(what + " is damaged");
  }
  uLong crc = crc32_z(0, out.data(), out.size());
  if (out.empty()) crc = 0;
  if (crc != entry.crc) return corrupt(what + " is damaged (checksum)");
  return out;
}

}  // namespace lq::calibration
