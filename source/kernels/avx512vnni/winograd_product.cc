// The products of exact integer Winograd, AVX-512: vpdpwssd on pairs of input channels. Tile: 12 tiles × 32 channels:
// 24 accumulators; two vectors of weights share a broadcast, for loads are what runs short.
#include <immintrin.h>

#include "kernels/kernel_types.h"
#include "kernels/winograd_kernels.h"

namespace lq::avx512vnni {
namespace {

struct Vector {
  using Int = __m512i;
  static constexpr int kLanes = 16, kTiles = 12, kPanels = 2;
  [[gnu::always_inline]] static inline Int zero() { return _mm512_setzero_si512(); }
  [[gnu::always_inline]] static inline Int load(const void* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static inline void store(int32_t* p, Int v) { _mm512_storeu_si512(p, v); }
  [[gnu::always_inline]] static inline Int broadcast2(const int16_t* p) {
    int32_t v;
    __builtin_memcpy(&v, p, 4);
    return _mm512_set1_epi32(v);
  }
  [[gnu::always_inline]] static inline void pin(Int& v) { __asm__("" : "+v"(v)); }
  [[gnu::always_inline]] static inline Int dot(Int acc, Int v, Int w) { return _mm512_dpwssd_epi32(acc, w, v); }
};

#include "kernels/winograd_product_inline.h"

}  // namespace

void winograd23_s8(const WinogradProductArgs& a) { product(a, winograd_positions(2)); }
void winograd43_s8(const WinogradProductArgs& a) { product(a, winograd_positions(4)); }

}  // namespace lq::avx512vnni
