// uint8 × int8 panel product on vpdpbusd, AVX-512. Tiles keep 8 to 24 accumulators of the 32 registers; wide panels
// read each broadcast pixel once for up to 64 channels.
#include "kernels/avx512vnni/conv_store.h"

namespace lq::avx512vnni {
namespace {

struct Vector {
  using Int = __m512i;
  static constexpr int kLanes = 16;
  [[gnu::always_inline]] static inline Int load(const void* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static inline Int broadcast4(const uint8_t* p) {
    int32_t v;
    __builtin_memcpy(&v, p, 4);
    return _mm512_set1_epi32(v);
  }
  [[gnu::always_inline]] static inline Int dot(Int acc, Int u8, Int s8) { return _mm512_dpbusd_epi32(acc, u8, s8); }
  /// Makes g++ compute `v` here: left alone it moves products away from their sums and spills them.
  [[gnu::always_inline]] static inline void pin(Int& v) { __asm__("" : "+v"(v)); }
};

template <int kVectors>
using Store = S8Store<kVectors>;

#include "kernels/panel_bytes_inline.h"

}  // namespace

void conv_u8(const ConvByteArgs& a) {
  switch (a.geometry.width) {
    case 64:
      return run<6, 4>(a);
    case 48:
      return run<8, 3>(a);
    case 32:
      return run<8, 2>(a);
    default:
      return run<8, 1>(a);
  }
}

void offset_u8(const OffsetU8Args& a) {
  const __m512i half = _mm512_set1_epi8(char(0x80));
  int64_t p = 0;
  if (a.x_step == kBlock) {
    for (; p + 8 <= a.pixels; p += 8)
      _mm512_storeu_si512(a.y + 8 * p, _mm512_xor_si512(_mm512_loadu_si512(a.x + 8 * p), half));
  }
  for (; p < a.pixels; ++p) {
    const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(a.x + p * a.x_step));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(a.y + 8 * p), _mm_xor_si128(v, _mm512_castsi512_si128(half)));
  }
}

}  // namespace lq::avx512vnni
