// The loops of s16_kernels.h, plain: compilers vectorise each of them for the instruction set of the folder that
// includes this. Included once a folder, inside its namespace's anonymous one, so that no linker mixes code of two.

void quantize_s16(const float* x, int16_t* y, int64_t n, const QuantizeArgs& args) {
  const QuantizeArgs a = args;
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int16_t>(round_clamped(x[i] / a.scale, a.round));
}

void dequantize_s16(const int16_t* x, float* y, int64_t n, float scale) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]) * scale;
}

void round_s16(const float* x, int16_t* y, int64_t n) {
  constexpr float kMagic = 12582912.0f;  // as in round_clamped
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int16_t>(static_cast<int32_t>((x[i] + kMagic) - kMagic));
}

void requantize_s16(const int16_t* x, int16_t* y, int64_t n, const RescaleArgs& args) {
  const RescaleArgs a = args;
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<int16_t>(round_clamped(static_cast<float>(x[i]) * a.multiplier, a.round));
  }
}

inline int16_t add_one_s16(int16_t a, int16_t b, const BinaryArgs& g) {
  const float ta = static_cast<float>(a) * g.mul_a, tb = static_cast<float>(b) * g.mul_b;
  return static_cast<int16_t>(round_clamped(ta + tb, g.round));
}
inline int16_t mul_one_s16(int16_t a, int16_t b, const BinaryArgs& g) {
  return static_cast<int16_t>(round_clamped(static_cast<float>(a * b) * g.mul_a, g.round));
}

template <int16_t (*kOne)(int16_t, int16_t, const BinaryArgs&)>
inline void binary_s16(const int16_t* a, const int16_t* b, int b_step, int16_t* __restrict y, int64_t n,
                       const BinaryArgs& args) {
  const BinaryArgs g = args;
  if (b_step != 0) {
    for (int64_t i = 0; i < n; ++i) y[i] = kOne(a[i], b[i], g);
    return;
  }
  int16_t repeated[8];
  for (int l = 0; l < 8; ++l) repeated[l] = b[l];
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int l = 0; l < 8; ++l) y[i + l] = kOne(a[i + l], repeated[l], g);
  }
  for (int l = 0; i + l < n; ++l) y[i + l] = kOne(a[i + l], repeated[l], g);
}

void add_s16(const int16_t* a, const int16_t* b, int b_step, int16_t* y, int64_t n, const BinaryArgs& args) {
  binary_s16<add_one_s16>(a, b, b_step, y, n, args);
}
void mul_s16(const int16_t* a, const int16_t* b, int b_step, int16_t* y, int64_t n, const BinaryArgs& args) {
  binary_s16<mul_one_s16>(a, b, b_step, y, n, args);
}

void widen_run(const int8_t* x, int16_t* y, int64_t n, int32_t zero_point) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int16_t>(x[i] - zero_point);
}
void narrow_run(const int16_t* x, int8_t* y, int64_t n, int32_t zero_point) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int8_t>(x[i] + zero_point);
}
