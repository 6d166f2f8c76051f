// The graph part of a file: ModelIr -> flatbuffer, with everything small that repeats stored once. Internal to format/.
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"

namespace lq {

/// Lists and strings of at most this many bytes may be shared by many references. A reader unfolds them, so the limit
/// bounds what a small hostile file can make of itself: a reference costs 4 bytes, its copy at most this.
inline constexpr size_t kMaxSharedBytes = 64;

/// Where a buffer of `size` bytes may begin: a multiple of this. Small ones are packed closer.
inline constexpr size_t buffer_alignment(uint64_t size) { return size < 1024 ? 16 : 64; }

/// Collects constants into the weight section; equal bytes are stored once, in the shortest encoding.
class WeightSection {
 public:
  /// A constant as the file holds it.
  struct Part {
    Bytes stored;
    schema::Encoding encoding;
    uint64_t offset;  // in the section
  };

  int add(const Bytes& bytes);
  /// Bytes of the section, a multiple of 64.
  size_t size() const { return align_up(end_); }
  const std::vector<Part>& parts() const { return parts_; }
  /// `section` holds size() zeros.
  void copy_to(uint8_t* section) const;

 private:
  std::multimap<uint64_t, int> by_checksum_;
  std::vector<Bytes> plain_;
  std::vector<Part> parts_;
  uint64_t end_ = 0;
};

/// Packs a verified model; its constants go to `weights`.
void pack_model(const ModelIr& ir, flatbuffers::FlatBufferBuilder& builder, WeightSection& weights);

}  // namespace lq
