#include "format/palette.h"

#include <cstring>
#include <unordered_map>
#include <vector>

namespace lq {
namespace {

constexpr size_t kWord = sizeof(uint32_t);
constexpr size_t kSmallest = 4096;  // below it the table may weigh as much as what it saves
constexpr size_t kMostEntries = 256;

uint32_t word_at(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, kWord);
  return word;
}

}  // namespace

std::optional<Bytes> palette_encoded(const Bytes& plain) {
  if (plain.size() < kSmallest || plain.size() % kWord != 0) return std::nullopt;
  std::unordered_map<uint32_t, uint8_t> index_of;
  std::vector<uint32_t> table;
  std::vector<uint8_t> indices(plain.size() / kWord);
  for (size_t i = 0; i < indices.size(); ++i) {
    const uint32_t word = word_at(plain.data() + i * kWord);
    const auto [at, is_new] = index_of.emplace(word, uint8_t(table.size()));
    if (is_new) {
      if (table.size() == kMostEntries) return std::nullopt;
      table.push_back(word);
    }
    indices[i] = at->second;
  }
  const uint32_t entries = uint32_t(table.size());
  Result<Buffer> encoded = Buffer::allocate(kWord + entries * kWord + indices.size(), "a constant on its way to disk");
  if (!encoded.ok()) return std::nullopt;  // stored plain: larger, not wrong
  std::memcpy(encoded->data(), &entries, kWord);
  std::memcpy(encoded->data() + kWord, table.data(), entries * kWord);
  std::memcpy(encoded->data() + kWord + entries * kWord, indices.data(), indices.size());
  return Bytes::from(std::move(*encoded));
}

Result<Bytes> palette_decoded(const uint8_t* encoded, size_t size) {
  const uint32_t entries = size < kWord ? 0 : word_at(encoded);
  if (entries == 0 || entries > kMostEntries || size - kWord < entries * kWord) {
    return corrupt("has a palette of " + std::to_string(entries) + " values in " + std::to_string(size) + " bytes");
  }
  const uint8_t* const table = encoded + kWord;
  const uint8_t* const indices = table + entries * kWord;
  const size_t words = size - kWord - entries * kWord;
  LQ_ASSIGN_OR_RETURN(Buffer plain, Buffer::allocate(words * kWord, "an encoded constant"));
  for (size_t i = 0; i < words; ++i) {
    if (indices[i] >= entries) {
      return corrupt("names value " + std::to_string(indices[i]) + " of a palette of " + std::to_string(entries));
    }
    std::memcpy(plain.data() + i * kWord, table + indices[i] * kWord, kWord);
  }
  return Bytes::from(std::move(plain));
}

}  // namespace lq
