// Pools, float and int8, blocked and linear, against naive loops written from docs/NUMERICS.md; ONNX's vectors for the
// corners.
#include "kernels/op_case.h"

namespace lq::test {
namespace {

struct Geometry {
  const char* name;
  std::vector<int32_t> kernel, strides, pads, dilations;
  bool ceil_mode, count_include_pad;
};

schema::PoolAttrsT attrs_of(const Geometry& g) {
  schema::PoolAttrsT a;
  a.kernel_shape = g.kernel;
  a.strides = g.strides;
  a.pads = g.pads;
  a.dilations = g.dilations;
  a.ceil_mode = g.ceil_mode;
  a.count_include_pad = g.count_include_pad;
  return a;
}

/// One window of a 2-D pool: values of its real taps in order, and how many taps lie inside the padded image.
template <typename T>
struct Window {
  std::vector<T> values;
  int64_t padded = 0;
};

/// f(window) for every output; returns the results and sets the output's extents. All plain loops.
template <typename T, typename R, typename F>
std::vector<R> naive_pool(const std::vector<T>& x, const Shape& shape, const Geometry& g, Shape& out, F f) {
  const auto at = [](const std::vector<int32_t>& v, size_t i, int32_t otherwise) {
    return v.empty() ? otherwise : v[i];
  };
  int64_t extent[2];
  for (size_t i = 0; i < 2; ++i) {
    const int64_t room =
        shape[i + 2] + at(g.pads, i, 0) + at(g.pads, i + 2, 0) - ((g.kernel[i] - 1) * at(g.dilations, i, 1) + 1);
    const int64_t s = at(g.strides, i, 1);
    extent[i] = (g.ceil_mode ? (room + s - 1) / s : room / s) + 1;
    // ONNX drops a last window that would start in the padding behind the image.
    if (g.ceil_mode && (extent[i] - 1) * s >= shape[i + 2] + at(g.pads, i, 0)) --extent[i];
  }
  out = {shape[0], shape[1], extent[0], extent[1]};
  std::vector<R> y;
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (int64_t oh = 0; oh < extent[0]; ++oh) {
      for (int64_t ow = 0; ow < extent[1]; ++ow) {
        Window<T> w;
        for (int64_t kh = 0; kh < g.kernel[0]; ++kh) {
          for (int64_t kw = 0; kw < g.kernel[1]; ++kw) {
            const int64_t h = oh * at(g.strides, 0, 1) - at(g.pads, 0, 0) + kh * at(g.dilations, 0, 1);
            const int64_t v = ow * at(g.strides, 1, 1) - at(g.pads, 1, 0) + kw * at(g.dilations, 1, 1);
            if (h < shape[2] + at(g.pads, 2, 0) && v < shape[3] + at(g.pads, 3, 0)) ++w.padded;
            if (h >= 0 && h < shape[2] && v >= 0 && v < shape[3])
              w.values.push_back(x[size_t((plane * shape[2] + h) * shape[3] + v)]);
          }
        }
        y.push_back(f(w));
      }
    }
  }
  return y;
}

const Geometry kGeometries[] = {
    {"2x2s2", {2, 2}, {2, 2}, {}, {}, false, false},
    {"3x3s2 pads end", {3, 3}, {2, 2}, {0, 0, 1, 1}, {}, false, false},
    {"3x3s2 pads end, counted", {3, 3}, {2, 2}, {0, 0, 1, 1}, {}, false, true},
    {"3x3s2 uneven pads, ceil", {3, 3}, {2, 2}, {1, 1, 2, 2}, {}, true, false},
    {"3x3s2 uneven pads, ceil, counted", {3, 3}, {2, 2}, {1, 1, 2, 2}, {}, true, true},
    {"2x3 dilated", {2, 3}, {1, 2}, {1, 0, 0, 2}, {3, 2}, false, true},
    {"5x1s3 ceil", {5, 1}, {3, 1}, {2, 0, 2, 0}, {}, true, true},
    {"1x1", {1, 1}, {}, {}, {}, false, false},
};

constexpr int64_t kShapes[][4] = {{1, 1, 7, 9}, {2, 8, 8, 8}, {1, 13, 11, 7}, {3, 20, 9, 10}};

template <typename T>
void expect_pool(Op op, const Geometry& g, const Shape& shape, const std::vector<T>& x, const Shape& out,
                 const std::vector<T>& y, std::optional<QuantParams> from = {}, std::optional<QuantParams> to = {}) {
  for (bool in_blocked : {false, true}) {
    for (bool out_blocked : {false, true}) {
      OpCase pool(op);
      pool.node().attrs.Set(attrs_of(g));
      pool.input(shape, x, in_blocked, from).output(dtype_of<T>(), out, out_blocked, to);
      pool.expect(
          y, std::string(g.name) + (in_blocked ? " blocked" : " linear") + (out_blocked ? "->blocked" : "->linear"));
    }
  }
}

TEST(Pool, MaxInt8AndFloat) {
  for (const Geometry& g : kGeometries) {
    for (const auto& s : kShapes) {
      const Shape shape(s, s + 4);
      Shape out;
      // All negative: padding taken for zero would win.
      std::vector<float> f = random_f32(count_of(shape), 1);
      for (float& v : f) v = -std::fabs(v) - 0.5f;
      const auto largest = [](const auto& w) { return *std::max_element(w.values.begin(), w.values.end()); };
      const std::vector<float> yf = naive_pool<float, float>(f, shape, g, out, largest);
      expect_pool(Op::MaxPool, g, shape, f, out, yf);
      std::vector<int8_t> q = random_s8(count_of(shape), 2);
      for (int8_t& v : q) v = int8_t(v / 2 - 64);
      const std::vector<int8_t> yq = naive_pool<int8_t, int8_t>(q, shape, g, out, largest);
      expect_pool(Op::MaxPool, g, shape, q, out, yq, s8(0.5f, 100), s8(0.5f, 100));
    }
  }
}

TEST(Pool, AverageInt8) {
  for (const Geometry& g : kGeometries) {
    for (const auto& s : kShapes) {
      const Shape shape(s, s + 4);
      Shape out;
      const std::vector<int8_t> x = random_s8(count_of(shape), 3);
      for (int32_t zero : {-128, 0, 127}) {
        const QuantParams from = s8(0.13f, zero), to = s8(0.05f, -17, -100, 90);
        const std::vector<int8_t> y = naive_pool<int8_t, int8_t>(x, shape, g, out, [&](const Window<int8_t>& w) {
          int32_t acc = 0;
          for (int8_t v : w.values) acc += v - zero;
          const double n = double(g.count_include_pad ? w.padded : int64_t(w.values.size()));
          return int8_t(requantize(acc, float(double(0.13f) / (double(0.05f) * n)), -17, -100, 90));
        });
        expect_pool(Op::AveragePool, g, shape, x, out, y, from, to);
      }
    }
  }
}

float sum8(const std::vector<float>& v) {
  float p[8] = {};
  for (size_t i = 0; i < v.size(); ++i) p[i % 8] += v[i];
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

TEST(Pool, AverageFloat) {
  for (const Geometry& g : kGeometries) {
    for (const auto& s : kShapes) {
      const Shape shape(s, s + 4);
      Shape out;
      const std::vector<float> x = random_f32(count_of(shape), 4, 1000.0f);
      const std::vector<float> y = naive_pool<float, float>(x, shape, g, out, [&](const Window<float>& w) {
        return sum8(w.values) / float(g.count_include_pad ? w.padded : int64_t(w.values.size()));
      });
      expect_pool(Op::AveragePool, g, shape, x, out, y);
    }
  }
}

TEST(Pool, Global) {
  for (const Shape& shape :
       {Shape{2, 13, 5, 7}, Shape{1, 8, 1, 1}, Shape{1, 3, 19}, Shape{2, 9, 2, 3, 4}, Shape{1, 5, 64, 70}}) {
    const int64_t planes = shape[0] * shape[1], spatial = count_of(shape) / planes;
    Shape out = shape;
    std::fill(out.begin() + 2, out.end(), 1);
    const std::vector<int8_t> q = random_s8(count_of(shape), 5);
    const std::vector<float> f = random_f32(count_of(shape), 6);
    std::vector<int8_t> mean_q, max_q;
    std::vector<float> mean_f, max_f;
    for (int64_t i = 0; i < planes; ++i) {
      int32_t acc = 0;
      for (int64_t j = 0; j < spatial; ++j) acc += q[size_t(i * spatial + j)] + 128;
      mean_q.push_back(
          int8_t(requantize(acc, float(double(0.02f) / (double(0.015f) * double(spatial))), 4, -128, 127)));
      max_q.push_back(*std::max_element(q.begin() + i * spatial, q.begin() + (i + 1) * spatial));
      mean_f.push_back(sum8({f.begin() + i * spatial, f.begin() + (i + 1) * spatial}) / float(spatial));
      max_f.push_back(*std::max_element(f.begin() + i * spatial, f.begin() + (i + 1) * spatial));
    }
    for (bool blocked : {false, true}) {
      if (blocked && shape.size() > 4) continue;
      const QuantParams from = s8(0.02f, -128);
      OpCase(Op::GlobalAveragePool)
          .input(shape, q, blocked, from)
          .output(DType::Int8, out, blocked, s8(0.015f, 4))
          .expect(mean_q);
      OpCase(Op::GlobalMaxPool).input(shape, q, blocked, from).output(DType::Int8, out, blocked, from).expect(max_q);
      OpCase(Op::GlobalAveragePool).input(shape, f, blocked).output(DType::Float32, out, blocked).expect(mean_f);
      OpCase(Op::GlobalMaxPool).input(shape, f, blocked).output(DType::Float32, out, blocked).expect(max_f);
    }
  }
}

// onnx/backend/test/case/node/maxpool.py, argmax vectors: input 1…25 in a 5×5 map.
TEST(Pool, MaxIndices) {
  const Shape shape = {1, 1, 5, 5};
  std::vector<float> x;
  for (int i = 1; i <= 25; ++i) x.push_back(float(i));
  for (bool blocked : {false, true}) {
    OpCase padded(Op::MaxPool);
    padded.node().attrs.Set(attrs_of({"", {5, 5}, {}, {2, 2, 2, 2}, {}, false, false}));
    padded.input(shape, x, blocked).output(DType::Float32, shape, blocked).output(DType::Int64, shape, false);
    padded.expect<float>(
        {13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25});
    EXPECT_EQ(padded.result<int64_t>(1), (std::vector<int64_t>{12, 13, 14, 14, 14, 17, 18, 19, 19, 19, 22, 23, 24,
                                                               24, 24, 22, 23, 24, 24, 24, 22, 23, 24, 24, 24}));
    OpCase strided(Op::MaxPool);
    schema::PoolAttrsT attrs = attrs_of({"", {2, 2}, {2, 2}, {}, {}, false, false});
    attrs.storage_order = 1;
    strided.node().attrs.Set(attrs);
    strided.input(shape, x, blocked)
        .output(DType::Float32, {1, 1, 2, 2}, blocked)
        .output(DType::Int64, {1, 1, 2, 2}, false);
    strided.expect<float>({7, 9, 17, 19});
    EXPECT_EQ(strided.result<int64_t>(1), (std::vector<int64_t>{6, 16, 8, 18}));
  }
  // The first of equal values is named; indices count through batch and channels.
  OpCase ties(Op::MaxPool);
  ties.node().attrs.Set(attrs_of({"", {1, 2}, {1, 2}, {}, {}, false, false}));
  ties.input<float>({2, 2, 1, 2}, {3, 3, 1, 2, 2, 1, 0, 0}, false);
  ties.output(DType::Float32, {2, 2, 1, 1}, false).output(DType::Int64, {2, 2, 1, 1}, false);
  ties.expect<float>({3, 2, 2, 0});
  EXPECT_EQ(ties.result<int64_t>(1), (std::vector<int64_t>{0, 3, 4, 6}));
}

TEST(Pool, OneAndThreeDimensions) {
  for (bool blocked : {false, true}) {
    OpCase line(Op::MaxPool);
    schema::PoolAttrsT attrs;
    attrs.kernel_shape = {3};
    attrs.strides = {2};
    attrs.pads = {1, 1};
    line.node().attrs.Set(attrs);
    line.input<int8_t>({1, 2, 5}, {-5, -4, -3, -2, -1, 9, 1, 2, 3, 4}, blocked, s8(1, 0))
        .output(DType::Int8, {1, 2, 3}, blocked, s8(1, 0));
    line.expect<int8_t>({-4, -2, -1, 9, 3, 4});
  }
  OpCase volume(Op::AveragePool);  // 2×2×2 means of 0…17 in [2, 3, 3], by hand
  schema::PoolAttrsT attrs;
  attrs.kernel_shape = {2, 2, 2};
  volume.node().attrs.Set(attrs);
  std::vector<float> x;
  for (int i = 0; i < 18; ++i) x.push_back(float(i));
  volume.input({1, 1, 2, 3, 3}, x, false)
      .output(DType::Float32, {1, 1, 1, 2, 2}, false)
      .expect<float>({6.5f, 7.5f, 9.5f, 10.5f});
  OpCase bytes(Op::MaxPool);  // uint8 data without parameters
  attrs.kernel_shape = {2, 2};
  bytes.node().attrs.Set(attrs);
  bytes.input<uint8_t>({1, 1, 2, 3}, {1, 200, 3, 4, 5, 255}, false)
      .output(DType::UInt8, {1, 1, 1, 2}, false)
      .expect<uint8_t>({200, 255});
}

TEST(Pool, RefusesUnquantizedInt8Average) {
  OpCase mean(Op::GlobalAveragePool);
  mean.input<int8_t>({1, 1, 1, 2}, {1, 2}, false).output(DType::Int8, {1, 1, 1, 1}, false);
  EXPECT_EQ(mean.run(Isa::kScalar, 1).code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace lq::test
