// Files: read-only mapping and atomic replacement (temporary file, fsync, rename).
#pragma once
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/status.h"

namespace lq {

/// Maps a whole file read-only. An empty file gives present(), size 0. Errors name the path.
Result<Bytes> map_file(const std::string& path);

struct FilePart { const void* data; size_t size; };
/// Writes the parts one after another into a temporary file beside `path`, fsyncs and renames it over `path`.
/// On any failure (disk full included) nothing is left behind and an existing `path` is untouched.
Status write_file_atomically(const std::string& path, const std::vector<FilePart>& parts);

}  // namespace lq
