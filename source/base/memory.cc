#include "base/memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace lq {

const Allocator& default_allocator() {
  static constexpr Allocator kDefault{
      [](void*, size_t size, size_t alignment) -> void* {
        if (size > SIZE_MAX - alignment) return nullptr;
        return std::aligned_alloc(alignment, align_up(size == 0 ? 1 : size, alignment));
      },
      [](void*, void* pointer, size_t) { std::free(pointer); }, nullptr};
  return kDefault;
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    this->~Buffer();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    allocator_ = other.allocator_;
  }
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) allocator_.release(allocator_.context, data_, size_);
  data_ = nullptr;
}

Result<Buffer> Buffer::allocate(size_t size, const char* what, const Allocator& allocator) {
  Buffer buffer;
  buffer.allocator_ = allocator;
  buffer.size_ = size;
  buffer.data_ = static_cast<uint8_t*>(allocator.allocate(allocator.context, size, kAlignment));
  if (buffer.data_ == nullptr) {
    return out_of_memory("cannot allocate " + std::to_string(size) + " bytes for " + what);
  }
  return buffer;
}

Result<Bytes> Bytes::copy_of(const void* data, size_t size, const Allocator& allocator) {
  LQ_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(size, "a constant", allocator));
  if (size != 0) std::memcpy(buffer.data(), data, size);
  return from(std::move(buffer));
}

Bytes Bytes::from(Buffer buffer) {
  auto owner = std::make_shared<Buffer>(std::move(buffer));
  const uint8_t* data = owner->data();
  const size_t size = owner->size();
  return Bytes(data, size, std::move(owner));
}

}  // namespace lq
