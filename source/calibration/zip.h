// A small ZIP reader for .npz: stored and deflated members, ZIP64 sizes. Bytes are untrusted.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace lq::calibration {

struct ZipEntry {
  std::string name;
  int method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t compressed_size = 0, size = 0;
  uint64_t local_offset = 0;  // of the local header
};

/// Members in the central directory's order. Encrypted or multi-disk archives are refused.
Result<std::vector<ZipEntry>> list_zip(const uint8_t* data, size_t size);

/// Unpacks one member; its size and CRC-32 must be as the directory says.
Result<std::vector<uint8_t>> read_zip_entry(const uint8_t* data, size_t size, const ZipEntry& entry);

}  // namespace lq::calibration
