// The byte shuffles of move_channels_1 in x86 folders. An ISA's file includes this inside its own anonymous namespace
// (so that no linker mixes code of two ISAs).

/// Shuffles for two pixels at once. Sources that are not there repeat the first one and give nothing, so that a loop
/// may have a fixed number of them.
struct ByteMoves {
  const uint8_t* x[kBlock];
  __m128i shuffle[kBlock];
  __m128i base;  // `fill` in the lanes no source has, else 0
};

static inline ByteMoves byte_moves(const ChannelSource* sources, int source_count, uint8_t fill) {
  ByteMoves m;
  uint8_t base[2 * kBlock];
  for (int i = 0; i < 2 * kBlock; ++i) base[i] = fill;
  for (int s = 0; s < kBlock; ++s) {
    uint8_t shuffle[2 * kBlock];
    m.x[s] = static_cast<const uint8_t*>(sources[s < source_count ? s : 0].x);
    for (int i = 0; i < 2 * kBlock; ++i) {
      const uint8_t lane = s < source_count ? sources[s].lane[i % kBlock] : kNoLane;
      // pshufb gives 0 where an index has its high bit set; the second pixel's bytes are 8 behind.
      shuffle[i] = lane == kNoLane ? kNoLane : static_cast<uint8_t>(lane + i / kBlock * kBlock);
      if (lane != kNoLane) base[i] = 0;
    }
    m.shuffle[s] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(shuffle));
  }
  m.base = _mm_loadu_si128(reinterpret_cast<const __m128i*>(base));
  return m;
}

/// Pixels from byte `i` on, two at a time and the last one alone.
template <int kSources>
static inline void move_pixel_pairs(const ByteMoves& m, uint8_t* y, int64_t i, int64_t bytes) {
  for (; i + 2 * kBlock <= bytes; i += 2 * kBlock) {
    __m128i v = m.base;
    for (int s = 0; s < kSources; ++s) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(m.x[s] + i));
      v = _mm_or_si128(v, _mm_shuffle_epi8(x, m.shuffle[s]));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), v);
  }
  if (i == bytes) return;
  __m128i v = m.base;
  for (int s = 0; s < kSources; ++s) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(m.x[s] + i));
    v = _mm_or_si128(v, _mm_shuffle_epi8(x, m.shuffle[s]));
  }
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y + i), v);
}
