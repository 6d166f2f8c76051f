// The packed weights of one Model, made once and shared by its sessions.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "base/memory.h"
#include "runtime/op.h"

namespace lq {

/// Thread-safe. The first caller of a key packs, later ones get the same memory, concurrent ones wait for it. A failed
/// allocation is not remembered. Memory stays until the cache goes.
class SharedPackCache : public PackCache {
 public:
  explicit SharedPackCache(const Allocator& allocator) : allocator_(allocator) {}
  Result<const void*> get(const std::string& key, size_t bytes, const std::function<void(void*)>& fill) override;
  /// Bytes of all packs so far.
  size_t total_bytes() const;

 private:
  struct Entry {
    Buffer buffer;
    bool ready = false;
  };
  Allocator allocator_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lq
