// uint8 × int8 panel product on vpdpbusd, AVX-VNNI (256-bit). Tile: 6 pixels × 16 channels: 12 accumulators hide the
// multiplier's latency, 2 weights and 1 broadcast fill the register file.
#include "kernels/avx2/conv_store.h"

namespace lq::avxvnni {
namespace {

struct Vector {
  using Int = __m256i;
  static constexpr int kLanes = 8;
  [[gnu::always_inline]] static inline Int load(const void* p) { return avx2::load_256(p); }
  [[gnu::always_inline]] static inline Int broadcast4(const uint8_t* p) {
    int32_t v;
    __builtin_memcpy(&v, p, 4);
    return _mm256_set1_epi32(v);
  }
  [[gnu::always_inline]] static inline Int dot(Int acc, Int u8, Int s8) { return _mm256_dpbusd_avx_epi32(acc, u8, s8); }
  [[gnu::always_inline]] static inline void pin(Int& v) { avx2::pin(v); }
};

/// Only 16 channels a panel; the second block is left alone where it has no channel.
template <int kVectors>
struct Store {
  avx2::S8Store<2> both;
  avx2::S8Store<1> first;
  __attribute__((always_inline)) Store(const PanelGeometry& g, const Epilogue& e) : both(g, e), first(g, e) {}
  template <int kPixels>
  __attribute__((always_inline)) void store_tile(const __m256i (&acc)[kPixels][kVectors], const ptrdiff_t* y_at) const {
#pragma GCC unroll 6
    for (int p = 0; p < kPixels; ++p)
      both.g.lanes > kBlock ? both.store(acc[p], y_at[p]) : first.store(acc[p], y_at[p]);
  }
};

#include "kernels/panel_bytes_inline.h"

}  // namespace

void conv_u8(const ConvByteArgs& a) { run<6, 2>(a); }

}  // namespace lq::avxvnni
