// Structure checks that come before stb_image, which accepts many damaged files silently.
#pragma once
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "calibration/image.h"

namespace lq::calibration {

struct JpegScan {
  int orientation = 1;            // EXIF, 1…8; 1 when absent or malformed
  std::vector<size_t> scan_ends;  // offsets of the markers that end each entropy-coded scan
};
/// Walks all markers to EOI. Errors: no EOI, a segment past the end, a frame component no scan carries, restart
/// intervals missing.
Result<JpegScan> check_jpeg(const uint8_t* data, size_t size);

/// The same JPEG with eight bytes 0xFE in front of each marker that ends a scan. A decoder that has all its bits never
/// looks at them; one whose scan is short takes them for data where it would otherwise invent zeros. So the two decode
/// alike iff no scan is short.
std::vector<uint8_t> guard_jpeg_scans(const uint8_t* data, size_t size, const JpegScan& scan);

/// Chunk structure, CRC of every critical chunk, and the compressed data: complete, its checksum right, no larger than
/// the image.
Status check_png(const uint8_t* data, size_t size);

/// Pixel rows present for the header's size (uncompressed BMP).
Status check_bmp(const uint8_t* data, size_t size);

/// EXIF orientation from a TIFF block (what follows "Exif\0\0"); 1 when absent or malformed.
int exif_orientation(const uint8_t* tiff, size_t size);

/// PPM and PGM (P2, P3, P5, P6), maxval 1…65535. Scaled to 255, rounded; maxval 65535 keeps the high byte as PNG does.
Result<Image> decode_pnm(const uint8_t* data, size_t size);

}  // namespace lq::calibration
