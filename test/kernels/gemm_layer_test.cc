// Gemm and MatMul layers against naive loops: all transpositions, batches with broadcasting, constant and run-time
// operands.
#include "kernels/cpu_features.h"
#include "layer_harness.h"

namespace lq::test {
namespace {

struct MatCase {
  int64_t m = 1, n = 1, k = 1;
  Shape a_batch, b_batch, y_batch;        // MatMul; numpy broadcasting
  bool trans_a = false, trans_b = false;  // Gemm

  static Shape join(const Shape& batch, int64_t rows, int64_t cols) {
    Shape s = batch;
    s.push_back(rows), s.push_back(cols);
    return s;
  }
  Shape a_shape() const { return trans_a ? Shape{k, m} : join(a_batch, m, k); }
  Shape b_shape() const { return trans_b ? Shape{n, k} : join(b_batch, k, n); }
  Shape y_shape() const { return join(y_batch, m, n); }
  /// Index of batch `i` of y in an operand's batch dimensions.
  int64_t operand_batch(const Shape& batch, int64_t i) const {
    int64_t index = 0, stride = 1;
    for (size_t d = y_batch.size(); d-- > 0; i /= y_batch[d]) {
      const int64_t at = i % y_batch[d];
      const size_t lead = y_batch.size() - batch.size();
      if (d < lead) continue;
      index += (batch[d - lead] == 1 ? 0 : at) * stride;
      stride *= batch[d - lead];
    }
    return index;
  }
  size_t a_at(int64_t batch, int64_t i, int64_t j) const {
    return size_t(trans_a ? j * m + i : (operand_batch(a_batch, batch) * m + i) * k + j);
  }
  size_t b_at(int64_t batch, int64_t j, int64_t o) const {
    return size_t(trans_b ? o * k + j : (operand_batch(b_batch, batch) * k + j) * n + o);
  }
  template <typename F>
  void for_each_output(F&& f) const {
    for (int64_t b = 0; b < element_count(y_batch); ++b) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t o = 0; o < n; ++o) f(b, i, o);
      }
    }
  }
  std::string text() const {
    return shape_string(a_shape()) + (trans_a ? "T " : " ") + shape_string(b_shape()) + (trans_b ? "T" : "");
  }
};

MatCase random_matmul(Random& r) {
  MatCase c;
  c.m = r.between(1, r.chance(30) ? 200 : 20), c.n = r.between(1, 70), c.k = r.between(1, r.chance(30) ? 300 : 40);
  for (int64_t d = r.between(0, 2); d > 0; --d) {
    const int64_t size = r.between(1, 3);
    c.y_batch.push_back(size);
    c.a_batch.push_back(r.chance(70) ? size : 1);
    c.b_batch.push_back(c.a_batch.back() != size || r.chance(70) ? size : 1);
  }
  if (!c.y_batch.empty() && r.chance(30)) {  // one operand with fewer dimensions
    (r.chance(50) ? c.a_batch : c.b_batch).clear();
    for (size_t d = 0; d < c.y_batch.size(); ++d) {
      c.y_batch[d] = c.a_batch.empty() && c.b_batch.empty()
                         ? 1
                         : std::max(c.a_batch.empty() ? 1 : c.a_batch[d], c.b_batch.empty() ? 1 : c.b_batch[d]);
    }
  }
  return c;
}

template <typename T>
void add_operand(Layer& layer, const Shape& shape, const std::vector<T>& values, bool constant) {
  if (constant) {
    layer.constant<T>(shape, values);
  } else {
    layer.input<T>(shape, values, false);
  }
}

template <typename F>
void on_all(const std::string& text, F&& f) {
  for (Isa isa : runnable_isas()) {
    for (int threads : {1, 3}) {
      SCOPED_TRACE(text + " isa " + std::to_string(int(isa)) + " threads " + std::to_string(threads));
      f(isa, threads);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(MatMulF32, RandomShapes) {
  Random r(11);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
    const MatCase c = random_matmul(r);
    const std::vector<float> a = r.floats(element_count(c.a_shape())), b = r.floats(element_count(c.b_shape()));
    std::vector<float> want;
    c.for_each_output([&](int64_t batch, int64_t row, int64_t col) {
      float acc = 0;
      for (int64_t k = 0; k < c.k; ++k) acc = std::fmaf(a[c.a_at(batch, row, k)], b[c.b_at(batch, k, col)], acc);
      want.push_back(acc + 0.0f);
    });
    const bool constant = r.chance(50);
    on_all(c.text(), [&](Isa isa, int threads) {
      Layer layer(Op::MatMul);
      layer.input<float>(c.a_shape(), a, false);
      add_operand(layer, c.b_shape(), b, constant);
      layer.output(DType::Float32, c.y_shape(), false);
      Step step;
      ASSERT_TRUE(same_bits(layer.run<float>(isa, threads, &step), want));
      EXPECT_EQ(step.macs, int64_t(want.size()) * c.k);
    });
  }
}

TEST(MatMulF32, VectorsAsOperands) {  // numpy: [3]·[3,2] -> [2], [2,3]·[3] -> [2], [3]·[3] -> []
  const std::vector<float> v = {1, 2, 3}, m = {1, 2, 3, 4, 5, 6};
  for (Isa isa : runnable_isas()) {
    Layer left(Op::MatMul);
    left.input<float>({3}, v, false), left.input<float>({3, 2}, m, false), left.output(DType::Float32, {2}, false);
    EXPECT_EQ(left.run<float>(isa, 1), (std::vector<float>{22, 28}));
    Layer right(Op::MatMul);
    right.input<float>({2, 3}, m, false), right.constant<float>({3}, v), right.output(DType::Float32, {2}, false);
    EXPECT_EQ(right.run<float>(isa, 1), (std::vector<float>{14, 32}));
    Layer dot(Op::MatMul);
    dot.input<float>({3}, v, false), dot.constant<float>({3}, v), dot.output(DType::Float32, {}, false);
    EXPECT_EQ(dot.run<float>(isa, 1), std::vector<float>{14});
  }
}

TEST(GemmF32, RandomShapes) {
  Random r(12);
  for (int i = 0; i < 250 && !HasFatalFailure(); ++i) {
    MatCase c = random_matmul(r);
    c.a_batch = c.b_batch = c.y_batch = {};
    c.trans_a = r.chance(40), c.trans_b = r.chance(50);
    const std::vector<float> a = r.floats(c.m * c.k), b = r.floats(c.k * c.n);
    const float alpha = r.chance(60) ? 1.0f : 0.3f, beta = r.chance(60) ? 1.0f : -1.7f;
    const Shape c_shapes[] = {{c.m, c.n}, {c.n}, {1, c.n}, {c.m, 1}, {1}, {}};
    const Shape c_shape = c_shapes[r.between(0, 5)];
    const bool has_c = r.chance(70), constant = r.chance(50);
    const std::vector<float> addend = r.floats(element_count(c_shape));
    std::optional<ValueRange> clamp;
    if (r.chance(30)) clamp = ValueRange{0.0f, 1.0f};
    std::vector<float> want;
    c.for_each_output([&](int64_t batch, int64_t row, int64_t col) {
      const int64_t cols = c_shape.empty() ? 1 : c_shape.back(), rows = c_shape.size() == 2 ? c_shape[0] : 1;
      const float term = has_c ? addend[size_t((rows == 1 ? 0 : row) * cols + (cols == 1 ? 0 : col))] : 0.0f;
      const bool plain = alpha == 1 && beta == 1;
      float v = plain ? term : 0.0f;
      for (int64_t k = 0; k < c.k; ++k) v = std::fmaf(a[c.a_at(batch, row, k)], b[c.b_at(batch, k, col)], v);
      if (!plain) {
        v = alpha * v;
        if (has_c) v = v + beta * term;  // built with -ffp-contract=off: two roundings
      }
      v = v + 0.0f;
      want.push_back(clamp ? clamp_nan_to_low(v, clamp->min, clamp->max) : v);
    });
    on_all(c.text(), [&](Isa isa, int threads) {
      Layer layer(Op::Gemm);
      auto& attrs = mutable_attrs<schema::GemmAttrsT>(layer.node());
      attrs.alpha = alpha, attrs.beta = beta, attrs.trans_a = c.trans_a, attrs.trans_b = c.trans_b;
      layer.node().fused_clamp = clamp;
      layer.input<float>(c.a_shape(), a, false);
      add_operand(layer, c.b_shape(), b, constant);
      if (has_c) add_operand(layer, c_shape, addend, constant);
      layer.output(DType::Float32, c.y_shape(), false);
      ASSERT_TRUE(same_bits(layer.run<float>(isa, threads), want));
    });
  }
}

/// int8 products: Gemm and MatMul by constant weights (per column), MatMul of two activations with their zero points.
void run_int8_case(Random& r, Op op) {
  MatCase c = random_matmul(r);
  const bool two_activations = op == Op::MatMul && r.chance(50);
  if (op == Op::Gemm) {
    c.a_batch = c.b_batch = c.y_batch = {};
    c.trans_b = r.chance(50);
  }
  const std::vector<int8_t> a = r.int8(element_count(c.a_shape()), -128);
  const std::vector<int8_t> b = r.int8(element_count(c.b_shape()), two_activations ? -128 : -127);
  const QuantParams qa = per_tensor_params(DType::Int8, r.scale(), int32_t(r.between(-128, 127)));
  std::vector<float> scales;
  for (int64_t i = 0; i < c.n; ++i) scales.push_back(r.scale());
  const QuantParams qb = two_activations ? per_tensor_params(DType::Int8, scales[0], int32_t(r.between(-128, 127)))
                                         : per_channel_weights(scales, c.trans_b ? 0 : 1);
  QuantParams qy = per_tensor_params(DType::Int8, qa.scale[0] * scales[0] * std::sqrt(float(c.k)) * 80,
                                     int32_t(r.between(-128, 127)));
  if (r.chance(30)) qy.qmin = qy.zero_point[0];
  const bool float_output = r.chance(30);
  const std::vector<int32_t> bias = op == Op::Gemm && r.chance(70) ? r.int32(c.n, 30000) : std::vector<int32_t>();
  std::vector<int8_t> want;
  std::vector<float> want_float;
  c.for_each_output([&](int64_t batch, int64_t row, int64_t col) {
    uint32_t acc = bias.empty() ? 0u : uint32_t(bias[size_t(col)]);
    const int32_t zb = zero_point_at(qb, 0);
    for (int64_t k = 0; k < c.k; ++k)
      acc += uint32_t((a[c.a_at(batch, row, k)] - qa.zero_point[0]) * (b[c.b_at(batch, k, col)] - zb));
    const float s_b = scale_at(qb, size_t(col));
    want.push_back(int8_t(requantize(int32_t(acc), requantize_multiplier(qa.scale[0], s_b, qy.scale[0]),
                                     qy.zero_point[0], qy.qmin, qy.qmax)));
    want_float.push_back(float(int32_t(acc)) * float(double(qa.scale[0]) * double(s_b)));
  });
  on_all(c.text(), [&](Isa isa, int threads) {
    Layer layer(op);
    if (op == Op::Gemm) mutable_attrs<schema::GemmAttrsT>(layer.node()).trans_b = c.trans_b;
    layer.quantize(layer.input<int8_t>(c.a_shape(), a, false), qa);
    add_operand(layer, c.b_shape(), b, !two_activations);
    layer.quantize(layer.node().inputs[1], qb);
    if (!bias.empty()) layer.constant<int32_t>({c.n}, bias);
    const TensorId y = layer.output(float_output ? DType::Float32 : DType::Int8, c.y_shape(), false);
    if (!float_output) layer.quantize(y, qy);
    Step step;
    if (float_output) {
      ASSERT_TRUE(same_bits(layer.run<float>(isa, threads, &step), want_float));
    } else {
      ASSERT_TRUE(same_bits(layer.run<int8_t>(isa, threads, &step), want));
    }
    EXPECT_TRUE(step.integer);
    EXPECT_TRUE(runs_on(step.isa, isa)) << int(step.isa);
  });
}

TEST(GemmS8, RandomShapes) {
  Random r(13);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) run_int8_case(r, Op::Gemm);
}
TEST(MatMulS8, RandomShapes) {
  Random r(14);
  for (int i = 0; i < 250 && !HasFatalFailure(); ++i) run_int8_case(r, Op::MatMul);
}

TEST(MatMul, ClearErrors) {
  const auto message = [](Layer& layer) {
    SimplePacks packs;
    Step step;
    const Status status = layer.prepare(Isa::kScalar, 1, step, packs);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  Layer mixed(Op::MatMul);  // one side quantized
  mixed.quantize(mixed.input<int8_t>({2, 2}, {1, 2, 3, 4}, false), per_tensor_params(DType::Int8, 1, 0));
  mixed.constant<float>({2, 2}, {1, 2, 3, 4});
  mixed.output(DType::Float32, {2, 2}, false);
  EXPECT_NE(message(mixed).find("int8 by float32"), std::string::npos) << message(mixed);
  Layer shapes(Op::MatMul);
  shapes.input<float>({2, 2}, {1, 2, 3, 4}, false);
  shapes.constant<float>({3, 1}, {1, 2, 3});
  shapes.output(DType::Float32, {2, 1}, false);
  EXPECT_NE(message(shapes).find("do not multiply"), std::string::npos);
  Layer blocked(Op::MatMul);
  blocked.input<float>({1, 2, 2}, {1, 2, 3, 4}, true);
  blocked.constant<float>({2, 2}, {1, 2, 3, 4});
  blocked.output(DType::Float32, {1, 2, 2}, false);
  EXPECT_NE(message(blocked).find("linear"), std::string::npos);
}

}  // namespace
}  // namespace lq::test
