#include "runtime/pack_cache.h"

namespace lq {

Result<const void*> SharedPackCache::get(const std::string& key, size_t bytes, const std::function<void(void*)>& fill) {
  // The size is part of the key: whatever happens to names, nobody gets less memory than asked for.
  const std::string full_key = key + '\n' + std::to_string(bytes);
  std::unique_lock<std::mutex> lock(mutex_);
  auto [it, inserted] = entries_.try_emplace(full_key);
  Entry& entry = it->second;  // map nodes do not move
  if (!inserted) {
    filled_.wait(lock, [&] { return entry.ready; });
    return static_cast<const void*>(entry.buffer.data());
  }
  Result<Buffer> buffer = Buffer::allocate(bytes, "packed weights", allocator_);
  if (!buffer.ok()) {
    entries_.erase(it);  // still under the lock that inserted it: nobody waits for it yet
    return buffer.status();
  }
  entry.buffer = std::move(*buffer);
  lock.unlock();  // other layers may be packed meanwhile
  fill(entry.buffer.data());
  lock.lock();
  entry.ready = true;
  filled_.notify_all();
  return static_cast<const void*>(entry.buffer.data());
}

size_t SharedPackCache::total_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t total = 0;
  for (const auto& [key, entry] : entries_) total += entry.buffer.size();
  return total;
}

}  // namespace lq
