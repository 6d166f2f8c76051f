#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/memory.h"
#include "base/pages.h"

namespace lq {
namespace {

std::string temporary_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "lq_base_XXXXXX").string();
  return mkdtemp(path.data());
}

TEST(Status, CarriesContext) {
  const Status s = invalid_argument("axis 4 is outside rank 3").with_context("m.onnx").with_context("quantize");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(s.message(), "quantize: m.onnx: axis 4 is outside rank 3");
  EXPECT_TRUE(Status().with_context("x").ok());
}

TEST(Buffer, IsAlignedAndFailureIsAStatus) {
  auto b = Buffer::allocate(100, "test");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data()) % kAlignment, 0u);
  EXPECT_FALSE(Buffer::allocate(SIZE_MAX - 10, "test").ok());
  Allocator none{[](void*, size_t, size_t) -> void* { return nullptr; }, [](void*, void*, size_t) {}, nullptr};
  auto failed = Buffer::allocate(8, "the arena", none);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::kOutOfMemory);
  EXPECT_NE(failed.status().message().find("the arena"), std::string::npos);
}

TEST(Buffer, HugePagesBeginOnAMultipleOfTheirSize) {
  for (const size_t size : {size_t(100), kHugePage - 1, kHugePage, 3 * kHugePage + 5}) {
    auto b = Buffer::allocate(size, "test", huge_page_allocator());
    ASSERT_TRUE(b.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data()) % (size < kHugePage ? kAlignment : kHugePage), 0u) << size;
    std::memset(b->data(), 0x5a, size);
  }
  EXPECT_FALSE(Buffer::allocate(SIZE_MAX - 10, "test", huge_page_allocator()).ok());
}

TEST(Buffer, ReturnsEveryByteToItsAllocator) {
  static int64_t live = 0;
  Allocator counting{[](void*, size_t n, size_t a) -> void* { live += int64_t(n); return std::aligned_alloc(a, align_up(n, a)); },
                     [](void*, void* p, size_t n) { live -= int64_t(n); std::free(p); }, nullptr};
  {
    auto a = Buffer::allocate(10, "a", counting);
    auto b = Buffer::allocate(20, "b", counting);
    *a = std::move(*b);
    EXPECT_EQ(live, 20);
    Bytes shared = Bytes::from(std::move(*a));
    Bytes second = shared;
    EXPECT_EQ(live, 20);
  }
  EXPECT_EQ(live, 0);
}

TEST(File, AtomicWriteReplacesAndLeavesNothingElse) {
  const std::string folder = temporary_folder(), path = folder + "/x.lqm";
  ASSERT_TRUE(write_file_atomically(path, {{"old", 3}}).ok());
  ASSERT_TRUE(write_file_atomically(path, {{"new", 3}, {" file", 5}}).ok());
  auto bytes = map_file(path);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::string(bytes->as<char>(), bytes->size()), "new file");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  // A target that cannot be replaced (a folder): an error, and no temporary stays.
  std::filesystem::create_directories(folder + "/busy/child");
  EXPECT_FALSE(write_file_atomically(folder + "/busy", {{"x", 1}}).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
  std::filesystem::remove_all(folder);
}

TEST(File, MapErrorsNameThePath) {
  auto missing = map_file("/nonexistent/m.lqm");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("/nonexistent/m.lqm"), std::string::npos);
  EXPECT_FALSE(map_file("/").ok());
  const std::string folder = temporary_folder();
  std::ofstream(folder + "/empty");
  auto empty = map_file(folder + "/empty");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->present());
  EXPECT_EQ(empty->size(), 0u);
  std::filesystem::remove_all(folder);
}

/// Bytes of this process in memory; 0 where the system does not say.
size_t resident_bytes() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%ld %ld", &all, &resident);
  std::fclose(file);
  return read == 2 ? size_t(resident) * size_t(sysconf(_SC_PAGESIZE)) : 0;
}

TEST(Pages, EvictedFilesLeaveMemoryAndComeBackAsTheyWere) {
  constexpr size_t kSize = 8 << 20;
  std::vector<uint8_t> content(kSize);
  for (size_t i = 0; i < kSize; ++i) content[i] = uint8_t(i * 7 + i / 4096);
  const std::string path = ::testing::TempDir() + "evicted";
  ASSERT_TRUE(write_file_atomically(path, {{content.data(), kSize}}).ok());
  const auto file = map_file(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(std::memcmp(file->data(), content.data(), kSize), 0);
  const size_t before = resident_bytes();
  evict_pages(file->data() + 100, kSize - 200);  // ends within pages, which stay
  const size_t after = resident_bytes();
  // A kernel before 5.4 refuses; one that accepts must have dropped nearly all of it. qemu-user accepts whatever it is told.
  const auto accepts = [&](int advice) {
    return madvise(const_cast<uint8_t*>(file->data()), size_t(sysconf(_SC_PAGESIZE)), advice) == 0;
  };
  const bool supported = accepts(21) && !accepts(9999);
  if (before != 0 && supported) { EXPECT_LT(after + kSize * 3 / 4, before); }
  EXPECT_EQ(std::memcmp(file->data(), content.data(), kSize), 0);
  std::remove(path.c_str());
}

TEST(Pages, OtherMemoryKeepsItsContents) {
  std::vector<uint8_t> heap(1 << 20);
  for (size_t i = 0; i < heap.size(); ++i) heap[i] = uint8_t(i ^ i >> 8);
  evict_pages(heap.data(), heap.size());
  evict_pages(nullptr, 0);
  evict_pages(heap.data(), 1);
  for (size_t i = 0; i < heap.size(); ++i) ASSERT_EQ(heap[i], uint8_t(i ^ i >> 8));
}

}  // namespace
}  // namespace lq
