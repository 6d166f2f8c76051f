// Float activations of every processor against numerics/elementary, bit for bit: a walk through all floats, the values
// where something ends, every length of a tail, and in place.
#include "kernels/function_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/cpu_features.h"
#include "kernels/registry.h"
#include "numerics/elementary.h"

namespace lq::test {
namespace {

float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

struct Parameters {
  double alpha, beta;
};
double exact_hard_sigmoid(double x, const void* context) {
  const auto& p = *static_cast<const Parameters*>(context);
  return elementary::hard_sigmoid(x, p.alpha, p.beta);
}

struct Function {
  const char* family;
  Parameters parameters;
  double (*exact)(double x, const void* context);
};
const Function kFunctions[] = {
    {"exp_f32", {}, [](double x, const void*) { return elementary::exp(x); }},
    {"sigmoid_f32", {}, [](double x, const void*) { return elementary::sigmoid(x); }},
    {"silu_f32", {}, [](double x, const void*) { return elementary::silu(x); }},
    {"hard_sigmoid_f32", {double(0.2f), 0.5}, exact_hard_sigmoid},
    {"hard_sigmoid_f32", {double(-3.0f), -0.0}, exact_hard_sigmoid},
    {"hard_swish_f32", {1.0 / 6, 0.5}, [](double x, const void*) { return elementary::hard_swish(x); }},
};

std::vector<float> walk() {
  std::vector<float> x;
  constexpr uint64_t kStep = 1021;  // odd: all patterns of low bits occur
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += kStep) x.push_back(float_of(uint32_t(bits)));
  for (const float edge : {0.0f, 0.1f, 0.175f, 1.0f, 2.5f, 3.0f, 80.0f, 87.0f, 88.72f, 103.0f, 104.0f, 745.0f, 3e38f}) {
    for (int i = -40; i <= 40; ++i) {
      const float near = float_of(bits_of(edge) + uint32_t(edge == 0 && i < 0 ? -i : i));
      x.push_back(near);
      x.push_back(-near);
    }
  }
  // Infinities, quiet and signalling NaNs with a payload, of both signs.
  for (const uint32_t bits : {0x7f800000u, 0x7fc12345u, 0x7f812345u}) {
    x.push_back(float_of(bits));
    x.push_back(float_of(bits | 0x80000000u));
  }
  return x;
}

/// Calls f(row, function) for every kernel this processor can run.
template <typename F>
void for_each_kernel(F&& f) {
  int count = 0;
  const KernelTable* const* tables = kernel_tables(&count);
  for (int t = 0; t < count; ++t) {
    for (int i = 0; i < tables[t]->count; ++i) {
      const KernelRow& row = tables[t]->rows[i];
      for (const Function& function : kFunctions) {
        if (std::strcmp(row.family, function.family) == 0 && is_isa_supported(row.isa)) f(row, function);
      }
    }
  }
}

void call(const KernelRow& row, const Function& function, const float* x, float* y, size_t n) {
  const Parameters& p = function.parameters;
  reinterpret_cast<FunctionF32Fn>(row.fn)({x, y, int64_t(n), p.alpha, p.beta, function.exact, &p});
}

TEST(FunctionKernels, EqualTheElementaryFunctions) {
  const std::vector<float> x = walk();
  int kernels = 0;
  for_each_kernel([&](const KernelRow& row, const Function& function) {
    SCOPED_TRACE(row.name);
    std::vector<float> y(x.size());
    call(row, function, x.data(), y.data(), x.size());
    int wrong = 0;
    for (size_t i = 0; i < x.size() && wrong < 5; ++i) {
      const float expected = float(function.exact(double(x[i]), &function.parameters));
      if (bits_of(y[i]) == bits_of(expected)) continue;
      ++wrong;
      ADD_FAILURE() << "f(" << x[i] << ") [" << std::hex << bits_of(x[i]) << "] is " << bits_of(y[i]) << ", expected "
                    << bits_of(expected);
    }
    ++kernels;
  });
  if (is_isa_supported(Isa::kAvx2)) { EXPECT_EQ(kernels, 6); }
}

TEST(FunctionKernels, TailsAndPlacesAreKept) {
  for_each_kernel([&](const KernelRow& row, const Function& function) {
    SCOPED_TRACE(row.name);
    for (size_t n = 0; n <= 19; ++n) {
      std::vector<float> values(n + 1), expected(n + 1);
      for (size_t i = 0; i <= n; ++i) {
        values[i] = 0.37f * float(i) - 3 + (i % 5 == 4 ? 90.0f : 0.0f);  // some beyond what kernels decide themselves
        expected[i] = i < n ? float(function.exact(double(values[i]), &function.parameters)) : values[i];
      }
      call(row, function, values.data(), values.data(), n);
      for (size_t i = 0; i <= n; ++i) EXPECT_EQ(bits_of(values[i]), bits_of(expected[i])) << n << " " << i;
    }
  });
}

}  // namespace
}  // namespace lq::test
