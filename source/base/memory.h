// Large memory: a fallible allocator the caller may give, 64-byte-aligned buffers, shared read-only bytes, mapped files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace lq {

inline constexpr size_t kAlignment = 64;  // cache line; also the alignment of the weight section
inline constexpr size_t align_up(size_t n, size_t a = kAlignment) { return (n + a - 1) / a * a; }

/// Caller-replaceable allocator. `allocate` returns nullptr on failure, never throws; memory is `alignment`-aligned.
struct Allocator {
  void* (*allocate)(void* context, size_t size, size_t alignment) = nullptr;
  void (*release)(void* context, void* pointer, size_t size) = nullptr;
  void* context = nullptr;
};
/// The process's default allocator (aligned_alloc / free).
const Allocator& default_allocator();

/// Owned, 64-byte-aligned, uninitialised memory. Move-only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  /// Fails with kOutOfMemory; `what` names the use in the message ("arena", "packed weights of conv1").
  static Result<Buffer> allocate(size_t size, const char* what, const Allocator& allocator = default_allocator());
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  Allocator allocator_{};
};

/// Shared, immutable bytes: a view and whoever keeps it alive (a Buffer, a mapped file, the caller). Empty = absent.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const void* data, size_t size, std::shared_ptr<const void> owner)
      : data_(static_cast<const uint8_t*>(data)), size_(size), owner_(std::move(owner)) {}
  /// Copies into fresh 64-byte-aligned memory.
  static Result<Bytes> copy_of(const void* data, size_t size, const Allocator& allocator = default_allocator());
  static Bytes from(Buffer buffer);
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool present() const { return owner_ != nullptr || data_ != nullptr; }
  template <typename T> const T* as() const { return reinterpret_cast<const T*>(data_); }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

}  // namespace lq
