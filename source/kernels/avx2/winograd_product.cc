// The products of exact integer Winograd, AVX2: vpmaddwd on pairs of input channels. Tile: 6 tiles × 16 channels: 12
// accumulators, 2 weights, a broadcast and a product fill the register file.
#include "kernels/avx2/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::avx2 {
namespace {

struct Vector {
  using Int = __m256i;
  static constexpr int kLanes = 8, kTiles = 6, kPanels = 1;
  [[gnu::always_inline]] static inline Int zero() { return _mm256_setzero_si256(); }
  [[gnu::always_inline]] static inline Int load(const void* p) { return avx2::load_256(p); }
  [[gnu::always_inline]] static inline void store(int32_t* p, Int v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  [[gnu::always_inline]] static inline Int broadcast2(const int16_t* p) { return avx2::broadcast_pair(p); }
  [[gnu::always_inline]] static inline void pin(Int& v) { avx2::pin(v); }
  [[gnu::always_inline]] static inline Int dot(Int acc, Int v, Int w) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(v, w));
  }
};

#include "kernels/winograd_product_inline.h"

}  // namespace

void winograd23_s8(const WinogradProductArgs& a) { product(a, winograd_positions(2)); }
void winograd43_s8(const WinogradProductArgs& a) { product(a, winograd_positions(4)); }

}  // namespace lq::avx2
