// Constants of few different words are stored as a palette: smaller, the same bits back, and distrusted on the way.
#include "format/palette.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "format/sample_model.h"
#include "passes/runtime_graphs.h"

namespace lq {
namespace {

using ::testing::HasSubstr;
using namespace lq::test;

constexpr size_t kWords = 2048;

/// `count` words of `different` bit patterns, NaNs and both zeros among them.
std::vector<uint32_t> words(size_t count, size_t different) {
  std::vector<uint32_t> v(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t k = uint32_t(i * 7 % different);
    v[i] = k == 0 ? 0x80000000u : k == 1 ? 0x7fc00001u : k == 2 ? 0 : k * 0x9e3779b9u;
  }
  return v;
}
Bytes bytes(const std::vector<uint32_t>& v) { return *Bytes::copy_of(v.data(), v.size() * sizeof(uint32_t)); }

/// A model that is one Add of a constant of these words.
std::string file_with(const std::vector<uint32_t>& v) {
  testing::GraphBuilder g;
  std::vector<float> values(v.size());
  std::memcpy(values.data(), v.data(), v.size() * sizeof(uint32_t));
  const TensorId x = g.input("x", {int64_t(v.size())});
  g.output(g.node(Op::Add, {x, g.floats("anchors", {int64_t(v.size())}, values)}, {int64_t(v.size())}));
  return bytes_of(g.model);
}

TEST(Palette, GivesTheSameBitsBack) {
  for (const size_t different : {1, 2, 255, 256}) {
    const std::vector<uint32_t> plain = words(kWords, different);
    const std::optional<Bytes> encoded = palette_encoded(bytes(plain));
    ASSERT_TRUE(encoded) << different;
    EXPECT_EQ(encoded->size(), 4 + 4 * different + kWords);
    const Result<Bytes> back = palette_decoded(encoded->data(), encoded->size());
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_EQ(back->size(), kWords * 4);
    EXPECT_EQ(std::memcmp(back->data(), plain.data(), kWords * 4), 0);
  }
}

TEST(Palette, OnlyWhereItPays) {
  EXPECT_FALSE(palette_encoded(bytes(words(kWords, 257))));
  EXPECT_FALSE(palette_encoded(bytes(words(1023, 2))));
  EXPECT_TRUE(palette_encoded(bytes(words(1024, 2))));
  const std::vector<uint8_t> odd(4097, 1);
  EXPECT_FALSE(palette_encoded(*Bytes::copy_of(odd.data(), odd.size())));
}

TEST(Palette, AFileUsesIt) {
  const std::vector<uint32_t> plain = words(kWords, 200);
  const std::string file = file_with(plain);
  EXPECT_LT(file.size(), kWords * 2);
  const Result<ModelIr> back = read_string(file);
  ASSERT_TRUE(back.ok()) << back.status().message();
  for (const Tensor& t : back->main().tensors) {
    if (!t.is_constant()) continue;
    EXPECT_EQ(std::memcmp(t.data.data(), plain.data(), kWords * 4), 0);
  }
  EXPECT_EQ(bytes_of(*back), file);
}

TEST(Palette, DamageIsRefused) {
  const Bytes encoded = *palette_encoded(bytes(words(kWords, 10)));
  std::vector<uint8_t> file(encoded.data(), encoded.data() + encoded.size());
  const auto refused = [](const std::vector<uint8_t>& f, const char* part) {
    const Result<Bytes> plain = palette_decoded(f.data(), f.size());
    ASSERT_FALSE(plain.ok());
    EXPECT_EQ(plain.status().code(), StatusCode::kCorrupt);
    EXPECT_THAT(plain.status().message(), HasSubstr(part));
  };
  for (const uint32_t entries : {0u, 257u, 0xffffffffu}) {
    std::vector<uint8_t> f = file;
    std::memcpy(f.data(), &entries, 4);
    refused(f, "has a palette of");
  }
  refused({1, 0, 0}, "has a palette of 0 values in 3 bytes");
  refused({2, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9}, "has a palette of 2 values in 11 bytes");
  file.back() = 10;
  refused(file, "names value 10 of a palette of 10");
}

TEST(Palette, ACountThatDoesNotMatchTheShapeIsRefused) {
  const std::string file = with_graph(file_with(words(kWords, 200)), [](schema::ModelT& m) {
    for (auto& b : m.buffers) {
      if (b->encoding == schema::Encoding::Palette) b->size -= 64;
    }
  });
  const Result<ModelIr> model = read_string(file);
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.status().message(), HasSubstr("anchors"));
}

}  // namespace
}  // namespace lq
