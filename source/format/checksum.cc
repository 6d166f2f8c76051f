#include "format/checksum.h"

#include <cstring>

namespace lq {
namespace {

constexpr uint64_t kPrime = 0x9e3779b97f4a7c15ull;  // 2^64 / golden ratio, odd

uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * kPrime;
  return h ^ (h >> 29);
}

uint64_t load(const uint8_t* p) {
  uint64_t w;
  std::memcpy(&w, p, sizeof w);
  return w;
}

}  // namespace

uint64_t checksum64(const void* data, size_t size, uint64_t seed) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  uint64_t lane[4] = {seed + 1, seed + 2, seed + 3, seed + 4};
  size_t left = size;
  for (; left >= 32; left -= 32, p += 32) {
    for (int i = 0; i < 4; ++i) lane[i] = mix(lane[i], load(p + 8 * i));
  }
  uint8_t tail[32] = {};
  if (left != 0) std::memcpy(tail, p, left);
  for (int i = 0; i < 4; ++i) lane[i] = mix(lane[i], load(tail + 8 * i));
  uint64_t h = mix(seed, size);
  for (uint64_t l : lane) h = mix(h, l);
  return mix(h, 0);
}

}  // namespace lq
