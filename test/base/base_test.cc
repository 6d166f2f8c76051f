#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/memory.h"

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

}  // namespace
}  // namespace lq
