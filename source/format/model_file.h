// model.lqm: a 64-byte header, the flatbuffer graph (schema/model.fbs), the 64-byte-aligned weight section. See
// docs/FORMAT.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/memory.h"
#include "base/status.h"
#include "graph/graph.h"

namespace lq {

// min_reader_version as written and as read, kFileVersion to kShortFileVersion. Version 1 wrote every Q/DQ node and
// bias scale; 3 is written where a tensor is quantized to int16, which readers of 2 would compute in float.
inline constexpr uint32_t kFileVersion = 2, kShortFileVersion = 3;
inline constexpr uint32_t kSemanticsVersion = 1;  // docs/NUMERICS.md

/// First bytes of the file, little-endian. The identifier stands where flatbuffers puts one.
struct FileHeader {
  uint32_t header_size;  // 64
  char identifier[4];    // "LQM1"
  uint64_t graph_offset, graph_size, graph_checksum;
  uint64_t weights_offset, weights_size;
  uint64_t weights_checksum;  // of the whole section, gaps included
  uint64_t header_checksum;   // checksum64 of the bytes before it
};
static_assert(sizeof(FileHeader) == 64);

/// Reads a model from memory: structure (flatbuffers' verifier), meaning (verify()), checksums of header, graph and
/// weights. The constants of the result point into `file` and keep it alive. Any alignment of `file.data()` is fine.
/// kCorrupt for damaged bytes, kUnsupported for a newer file; messages say what and what to do.
Result<ModelIr> read_model(const Bytes& file);
/// The same from a path (mapped); every message starts with the path.
Result<ModelIr> read_model_file(const std::string& path);
/// True if the bytes begin like a .lqm file.
bool is_model_file(const void* data, size_t size);

/// The file's bytes. The same model gives the same bytes; equal constants are stored once. Fails if verify() does.
Result<Bytes> serialize_model(const ModelIr& model);
/// serialize_model, then write through a temporary file, then read back. Nothing is left behind on failure.
Status write_model_file(const ModelIr& model, const std::string& path);

}  // namespace lq
