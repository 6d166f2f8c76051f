// The products of exact integer Winograd, SSE4.1: pmaddwd on pairs of input channels. Tile: 2 tiles × 16 channels: 8
// accumulators; 4 weights, a broadcast and a product fill the rest of the register file.
#include "kernels/sse41/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::sse41 {
namespace {

struct Vector {
  using Int = __m128i;
  static constexpr int kLanes = 4, kTiles = 2, kPanels = 1;
  [[gnu::always_inline]] static inline Int zero() { return _mm_setzero_si128(); }
  [[gnu::always_inline]] static inline Int load(const void* p) { return sse41::load_128(p); }
  [[gnu::always_inline]] static inline void store(int32_t* p, Int v) { sse41::store_128(p, v); }
  [[gnu::always_inline]] static inline Int broadcast2(const int16_t* p) { return sse41::broadcast_4(p); }
  [[gnu::always_inline]] static inline void pin(Int& v) { sse41::pin(v); }
  [[gnu::always_inline]] static inline Int dot(Int acc, Int v, Int w) {
    return _mm_add_epi32(acc, _mm_madd_epi16(v, w));
  }
};

#include "kernels/winograd_product_inline.h"

}  // namespace

void winograd23_s8(const WinogradProductArgs& a) { product(a, winograd_positions(2)); }
void winograd43_s8(const WinogradProductArgs& a) { product(a, winograd_positions(4)); }

}  // namespace lq::sse41
