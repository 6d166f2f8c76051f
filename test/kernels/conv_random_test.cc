// Two thousand random int8 convolutions, every ISA of the machine against the scalar plan, bit for bit; what the scalar
// plan computes is checked against naive loops in conv_layer_test.cc.
#include "kernels/cpu_features.h"
#include "quantized_conv.h"

namespace lq::test {
namespace {

/// Channels 1…70, maps 1…40, kernels 1…7, any strides, pads, dilations and groups; at most `most` multiply-adds.
ConvCase draw(Random& r, int64_t most) {
  for (;;) {
    ConvCase c;
    c.one_d = r.chance(8);
    c.ic = r.between(1, 70), c.oc = r.between(1, 70);
    const int kind = int(r.between(0, 9));
    if (kind < 2) {
      c.groups = c.oc = c.ic;  // depthwise
    } else if (kind < 4) {
      c.groups = r.between(2, 8);
      c.ic = c.groups * r.between(1, 70 / c.groups), c.oc = c.groups * r.between(1, 70 / c.groups);
    }
    const int64_t side = r.chance(80) ? 9 : 40;
    c.h = r.between(1, side), c.w = r.between(1, side);
    const int64_t kernel = r.chance(40) ? 1 : r.chance(60) ? 3 : 7;
    c.kh = r.between(1, kernel), c.kw = r.between(1, kernel);
    if (r.chance(50)) c.kw = c.kh;
    c.sh = r.between(1, r.chance(80) ? 2 : 5), c.sw = r.chance(70) ? c.sh : r.between(1, 5);
    if (r.chance(25)) c.dh = r.between(1, 3), c.dw = r.between(1, 3);
    if (r.chance(60)) {
      c.top = r.between(0, c.kh - 1), c.left = r.between(0, c.kw - 1);
      c.bottom = r.between(0, c.kh - 1), c.right = r.between(0, c.kw - 1);
    }
    if (c.one_d) c.w = c.kw = c.sw = c.dw = 1, c.left = c.right = 0;
    if (c.fits() && c.oc * c.icg() * c.kh * c.kw * c.oh() * c.ow() <= most) return c;
  }
}

TEST(ConvS8, TwoThousandRandomLayersAreTheSameOnEveryIsa) {
  Random r(2000);
  for (int i = 0; i < 2000; ++i) {
    const ConvCase c = draw(r, 400000);
    const QuantizedConv q = random_quantized(r, c);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + c.text());
    const auto run = [&](Isa isa, int8_t garbage, auto element) {
      return quantized_layer(c, q, garbage).run<decltype(element)>(isa, 1);
    };
    const int8_t garbage = r.chance(50) ? int8_t(-128) : int8_t(127);
    for (Isa isa : runnable_isas()) {
      if (isa == Isa::kScalar) continue;
      SCOPED_TRACE("isa " + std::to_string(int(isa)));
      if (q.float_output) {
        ASSERT_TRUE(same_bits(run(isa, garbage, float()), run(Isa::kScalar, 55, float())));
      } else {
        ASSERT_TRUE(same_bits(run(isa, garbage, int8_t()), run(Isa::kScalar, 55, int8_t())));
      }
    }
  }
}

}  // namespace
}  // namespace lq::test
