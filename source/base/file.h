// Files: read-only mapping and atomic replacement (temporary file, fsync, rename).
#pragma once
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/status.h"

namespace lq {

/// Maps a whole file read-only. An empty file gives present(), size 0. Errors name the path.
Result<Bytes> map_file(const std::string& path);

/// Maps `length` bytes of an open file from `offset` (any); length 0: up to its end. The descriptor stays the caller's
/// and may be closed afterwards. Errors begin with `name`.
Result<Bytes> map_descriptor(int fd, uint64_t offset, uint64_t length, const std::string& name);

struct FilePart {
  const void* data;
  size_t size;
};
/// Writes the parts one after another into a temporary file beside `path`, fsyncs and renames it over `path`.
/// On any failure (disk full included) nothing is left behind and an existing `path` is untouched.
Status write_file_atomically(const std::string& path, const std::vector<FilePart>& parts);

}  // namespace lq
