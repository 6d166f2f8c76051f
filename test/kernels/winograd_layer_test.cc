// Winograd layers against the scalar direct convolution, which conv_layer_test.cc compares with naive loops: whatever
// the transforms, the tiles and the threads, the same bits.
#include "conv_naive.h"
#include "kernels/cpu_features.h"
#include "kernels/registry.h"
#include "runtime/ops/conv_winograd.h"

namespace lq::test {
namespace {

std::vector<Isa> winograd_isas() {
  std::vector<Isa> isas;
  for (Isa isa : runnable_isas()) {
    if (winograd_product(4, isa).row->isa != Isa::kScalar) isas.push_back(isa);
  }
  return isas;
}

/// A 3×3 layer with its values.
struct Case {
  ConvCase shape;
  std::vector<int8_t> x, w;
  std::vector<int32_t> bias;
  int32_t zero_point = 0;
  QuantParams y = per_tensor_params(DType::Int8, 1.0f, 0);
  bool float_output = false;
};

ConvCase shape_of(int64_t map_h, int64_t map_w, int64_t ic, int64_t oc) {
  ConvCase c;
  c.h = map_h, c.w = map_w, c.ic = ic, c.oc = oc, c.kh = c.kw = 3;
  c.top = c.left = c.bottom = c.right = 1;
  return c;
}

Case random_case(Random& r, const ConvCase& shape) {
  Case c;
  c.shape = shape;
  c.x = r.int8(shape.x_count(), -128), c.w = r.int8(shape.w_count(), -127);
  c.bias = r.int32(shape.oc, r.chance(20) ? 2000000000 : 20000);
  constexpr int32_t kZeroPoints[] = {0, -128, 127};
  c.zero_point = r.chance(60) ? kZeroPoints[r.between(0, 2)] : int32_t(r.between(-128, 127));
  c.y = per_tensor_params(DType::Int8, std::sqrt(float(shape.ic * 9)) * 80, int32_t(r.between(-128, 127)));
  if (r.chance(30)) c.y.qmin = std::min(127, c.y.zero_point[0] + 1);
  c.float_output = r.chance(25);
  return c;
}

Layer layer_of(const Case& c, int8_t garbage) {
  Layer layer(Op::Conv);
  c.shape.set_attrs(layer.node());
  layer.quantize(layer.input<int8_t>(c.shape.x_shape(), c.x, true, garbage),
                 per_tensor_params(DType::Int8, 1.0f, c.zero_point));
  layer.quantize(layer.constant<int8_t>(c.shape.w_shape(), c.w), per_channel_weights({1.0f}, 0));
  layer.constant<int32_t>({c.shape.oc}, c.bias);
  const TensorId y = layer.output(c.float_output ? DType::Float32 : DType::Int8, c.shape.y_shape(), true);
  if (!c.float_output) layer.quantize(y, c.y);
  return layer;
}

/// Largest exact tile of the case, and its layer prepared with tiles of m outputs.
int exact_tile(const Case& c) {
  ConvShape s{};
  s.ic = c.shape.ic, s.oc = c.shape.oc;
  return winograd_exact_tile(s, c.w.data(), c.zero_point);
}
Layer winograd_layer(const Case& c, int m, int8_t garbage) {
  Layer layer = layer_of(c, garbage);
  layer.prepare_with = [m](OpPrepare& p) -> Status {
    LQ_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(p, false));
    if (!is_winograd_shape(shape)) return internal_error("not a Winograd shape");
    return prepare_winograd_tile(p, shape, m);
  };
  return layer;
}

template <typename T>
void check_as(const Case& c) {
  const std::vector<T> want = layer_of(c, 0).run<T>(Isa::kScalar, 1);
  for (int m = exact_tile(c); m >= 2; m -= 2) {
    for (Isa isa : winograd_isas()) {
      for (int threads : {1, 2, 4}) {
        SCOPED_TRACE(c.shape.text() + "m " + std::to_string(m) + " isa " + std::to_string(int(isa)) + " threads " +
                     std::to_string(threads));
        Step step;
        ASSERT_TRUE(same_bits(
            winograd_layer(c, m, threads == 1 ? int8_t(-128) : int8_t(127)).run<T>(isa, threads, &step), want));
        ASSERT_EQ(std::string(step.kernel).find(m == 4 ? "winograd43_s8" : "winograd23_s8"), 0u) << step.kernel;
      }
    }
  }
}
void check(const Case& c) { c.float_output ? check_as<float>(c) : check_as<int8_t>(c); }

TEST(Winograd, EveryMapFromOnePixelUp) {
  Random r(1);
  for (int64_t h = 1; h <= 9; ++h) {
    for (int64_t w = 1; w <= 9 && !HasFatalFailure(); ++w)
      check(random_case(r, shape_of(h, w, r.between(1, 20), r.between(1, 36))));
  }
}

TEST(Winograd, EveryNumberOfChannels) {
  Random r(2);
  for (int64_t channels = 1; channels <= 70 && !HasFatalFailure(); ++channels)
    check(random_case(r, shape_of(r.between(1, 6), r.between(1, 6), channels, 71 - channels)));
}

TEST(Winograd, UnevenPadsAndBatches) {
  Random r(3);
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
    ConvCase shape = shape_of(r.between(1, 15), r.between(1, 15), r.between(1, 12), r.between(1, 20));
    shape.n = r.between(1, 3);
    shape.top = r.between(0, 9), shape.left = r.between(0, 9), shape.bottom = r.between(0, 9),
    shape.right = r.between(0, 9);
    if (shape.fits()) check(random_case(r, shape));
  }
}

/// Several chunks a layer, strips that are pieces of a row, weights in several turns.
TEST(Winograd, LargeLayers) {
  Random r(4);
  check(random_case(r, shape_of(61, 62, 40, 24)));
  check(random_case(r, shape_of(2, 700, 64, 17)));
  check(random_case(r, shape_of(9, 30, 530, 16)));
  ConvCase batch = shape_of(7, 7, 264, 33);
  batch.n = 5;
  check(random_case(r, batch));
}

/// 255 · 127 · 9 · ic is beyond 2^25 from 116 channels on: 2 × 2 tiles then, and exact.
TEST(Winograd, ExtremeOperandsAreExact) {
  for (int64_t ic : {115, 116, 300}) {
    for (int8_t x : {int8_t(-128), int8_t(127)}) {
      for (int32_t zp : {-128, 0, 127}) {
        Case c;
        c.shape = shape_of(6, 6, ic, 9);
        c.x.assign(size_t(c.shape.x_count()), x), c.w.assign(size_t(c.shape.w_count()), -127);
        c.bias.assign(9, 1);
        c.zero_point = zp, c.float_output = true;
        const int most = zp == 0 ? 128 : 255;
        EXPECT_EQ(exact_tile(c), ic * 9 * 127 * most < (1 << 25) ? 4 : 2);
        check(c);
      }
    }
  }
}

/// The bound itself: channels whose largest sum is one step below 2^25, and 2^25. 128 · 262143 = 2^25 − 128.
TEST(Winograd, TheBoundIsTight) {
  for (int extra : {15, 16}) {
    Case c;
    c.shape = shape_of(5, 5, 230, 2);
    c.x.assign(size_t(c.shape.x_count()), -128);
    c.w.assign(size_t(c.shape.w_count()), 1);
    int8_t* second = c.w.data() + c.shape.w_count() / 2;  // 2064 · 127 = 262128 in its first weights
    std::fill_n(second, 230 * 9, int8_t(0));
    std::fill_n(second, 2064, int8_t(-127));
    second[2064] = int8_t(-extra);
    c.bias.assign(2, 0);
    c.float_output = true;
    EXPECT_EQ(exact_tile(c), extra == 15 ? 4 : 2);
    EXPECT_EQ(layer_of(c, 0).run<float>(Isa::kScalar, 1)[25 + 12], float(128 * (262128 + extra)));
    check(c);
  }
}

/// Sums up to 2^29 by 2 × 2 tiles, none beyond: 128 · 127 · 9 · 3669 < 2^29 < 128 · 127 · 9 · 3670.
TEST(Winograd, BeyondAllBoundsItIsDirect) {
  for (int64_t ic : {3669, 3670}) {
    Case c;
    c.shape = shape_of(1, 1, ic, 1);
    c.w.assign(size_t(c.shape.w_count()), -127);
    EXPECT_EQ(exact_tile(c), ic == 3669 ? 2 : 0);
    c.x.assign(size_t(c.shape.x_count()), -128), c.bias.assign(1, 0);
    Step step;
    for (Isa isa : winograd_isas()) {
      c.float_output = true;
      EXPECT_EQ(layer_of(c, 0).run<float>(isa, 1, &step)[0], float(ic * 128 * 127));  // one tap meets the pixel
      EXPECT_EQ(std::string(step.kernel).find("winograd43"), std::string::npos);
    }
  }
}

std::string kernel_of(const Case& c, Isa isa) {
  Step step;
  SimplePacks packs;
  const Status status = layer_of(c, 0).prepare(isa, 1, step, packs);
  EXPECT_TRUE(status.ok()) << status.message();
  return step.kernel;
}

TEST(Winograd, IsTakenWhereItPays) {
  Random r(5);
  Case c = random_case(r, shape_of(28, 28, 64, 64));
  for (int8_t& w : c.w) w = int8_t(w / 2);
  c.zero_point = 0;
  for (Isa isa : winograd_isas()) {
    // sdot, smmla and long vectors make more products an instruction than Winograd saves.
    const bool pays = isa != Isa::kNeonDotprod && isa != Isa::kNeonI8mm && rvv_vector_bits() <= 256;
    EXPECT_EQ(kernel_of(c, isa).find(pays ? "winograd43_s8" : "conv_s8x"), 0u) << kernel_of(c, isa);
  }
  EXPECT_EQ(kernel_of(c, Isa::kScalar).find("conv_s8"), 0u);
  for (int i = 0; i < 4; ++i) {  // strided, dilated, grouped, another kernel
    Case other = c;
    if (i == 0) other.shape.sh = 2;
    if (i == 1) other.shape.dw = 2;
    if (i == 2) other.shape.groups = 2;
    if (i == 3) other.shape.kw = 1;
    other.w.resize(size_t(other.shape.w_count()));
    for (Isa isa : winograd_isas()) EXPECT_EQ(kernel_of(other, isa).find("conv_"), 0u) << i;
  }
}

}  // namespace
}  // namespace lq::test
