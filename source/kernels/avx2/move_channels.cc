// Channels from blocks to a block: one shuffle a source for four pixels of bytes or one of 32-bit elements.
#include "kernels/avx2/elementwise_avx2.h"

namespace lq::avx2 {
namespace {

#include "kernels/move_channels_inline.h"

template <int kSources>
void move_bytes(const ByteMoves& m, uint8_t* y, int64_t bytes) {
  const __m256i base = _mm256_broadcastsi128_si256(m.base);
  __m256i shuffle[kSources];
  for (int s = 0; s < kSources; ++s) shuffle[s] = _mm256_broadcastsi128_si256(m.shuffle[s]);
  int64_t i = 0;
  for (; i + 4 * kBlock <= bytes; i += 4 * kBlock) {
    __m256i v = base;
    for (int s = 0; s < kSources; ++s) {
      const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(m.x[s] + i));
      v = _mm256_or_si256(v, _mm256_shuffle_epi8(x, shuffle[s]));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), v);
  }
  move_pixel_pairs<kSources>(m, y, i, bytes);
}

/// Sources that are not there repeat the first one and give nothing.
template <int kSources>
void move_words(const ChannelSource* sources, int source_count, uint32_t fill, uint32_t* y, int64_t count) {
  const uint32_t* x[kSources];
  __m256i index[kSources], taken[kSources], base = _mm256_set1_epi32(static_cast<int>(fill));
  for (int s = 0; s < kSources; ++s) {
    alignas(32) int32_t from[kBlock], mask[kBlock];
    x[s] = static_cast<const uint32_t*>(sources[s < source_count ? s : 0].x);
    for (int i = 0; i < kBlock; ++i) {
      const bool has = s < source_count && sources[s].lane[i] != kNoLane;
      from[i] = has ? sources[s].lane[i] : 0;
      mask[i] = has ? -1 : 0;
    }
    index[s] = _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
    taken[s] = _mm256_load_si256(reinterpret_cast<const __m256i*>(mask));
    base = _mm256_andnot_si256(taken[s], base);
  }
  for (int64_t p = 0; p < count; ++p) {
    __m256i v = base;
    for (int s = 0; s < kSources; ++s) {
      const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x[s] + p * kBlock));
      v = _mm256_or_si256(v, _mm256_and_si256(_mm256_permutevar8x32_epi32(from, index[s]), taken[s]));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + p * kBlock), v);
  }
}

}  // namespace

void move_channels_1(const ChannelSource* sources, int source_count, uint32_t fill, void* yv, int64_t count) {
  const ByteMoves m = byte_moves(sources, source_count, static_cast<uint8_t>(fill));
  uint8_t* y = static_cast<uint8_t*>(yv);
  if (source_count <= 2) return move_bytes<2>(m, y, count * kBlock);
  if (source_count <= 4) return move_bytes<4>(m, y, count * kBlock);
  move_bytes<kBlock>(m, y, count * kBlock);
}

void move_channels_4(const ChannelSource* sources, int source_count, uint32_t fill, void* yv, int64_t count) {
  uint32_t* y = static_cast<uint32_t*>(yv);
  if (source_count <= 2) return move_words<2>(sources, source_count, fill, y, count);
  if (source_count <= 4) return move_words<4>(sources, source_count, fill, y, count);
  move_words<kBlock>(sources, source_count, fill, y, count);
}

}  // namespace lq::avx2
