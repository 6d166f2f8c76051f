// The AVX-VNNI kernels on any processor with AVX2: their instructions are made to trap and are emulated
// (avxvnni_trap.h), so that machines with and without AVX-VNNI run the same test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "emulation/avxvnni_trap.h"
#include "emulation/kernel_checks.h"
#include "kernels/cpu_features.h"

namespace lq {
extern const KernelTable kAvxVnniConvKernels;
extern const KernelTable kAvxVnniWinogradKernels;
}  // namespace lq

// Code of the kernels (CMakeLists.txt puts it into a section of its own) and of the forms below.
extern "C" uint8_t __start_lq_vnni_text[], __stop_lq_vnni_text[];
extern "C" uint8_t __start_lq_vnni_forms[], __stop_lq_vnni_forms[];

// One instruction a function, void(int32_t* acc, const void* a, const void* b), each with another form of operand.
__asm__(R"(
  .section lq_vnni_forms,"ax",@progbits
  .macro form name
  .globl \name
\name:
  vmovdqu (%rdi),%ymm0
  vmovdqu (%rsi),%ymm1
  .endm
  .macro end_form
  vmovdqu %ymm0,(%rdi)
  vzeroupper
  ret
  .endm
  form lq_form_registers
  vmovdqu (%rdx),%ymm2
  {vex} vpdpbusd %ymm2,%ymm1,%ymm0
  end_form
  form lq_form_high_registers
  vmovdqa %ymm0,%ymm8
  vmovdqa %ymm1,%ymm14
  vmovdqu (%rdx),%ymm15
  {vex} vpdpbusds %ymm15,%ymm14,%ymm8
  vmovdqa %ymm8,%ymm0
  end_form
  form lq_form_memory
  {vex} vpdpbusd (%rdx),%ymm1,%ymm0
  end_form
  form lq_form_xmm
  {vex} vpdpbusd (%rdx),%xmm1,%xmm0
  end_form
  form lq_form_index
  lea -128(%rdx),%r8
  mov $16,%r9d
  {vex} vpdpwssd 64(%r8,%r9,4),%ymm1,%ymm0
  end_form
  form lq_form_wide_displacement
  lea -0x1000(%rdx),%r10
  {vex} vpdpwssds 0x1000(%r10),%ymm1,%ymm0
  end_form
  form lq_form_base_r12
  push %r12
  mov %rdx,%r12
  {vex} vpdpwssd (%r12),%ymm1,%ymm0
  pop %r12
  end_form
  form lq_form_base_r13
  push %r13
  mov %rdx,%r13
  {vex} vpdpbusds (%r13),%ymm1,%ymm0
  pop %r13
  end_form
  form lq_form_no_base
  lea -32(%rdx),%r11
  {vex} vpdpbusd 32(,%r11,1),%ymm1,%ymm0
  end_form
  form lq_form_relative
  vmovdqu (%rdx),%ymm3
  vmovdqu %ymm3,lq_form_operand(%rip)
  {vex} vpdpbusd lq_form_operand(%rip),%ymm1,%ymm0
  end_form
  .local lq_form_operand
  .comm lq_form_operand,32,32
  .text
)");

using Form = void (*)(int32_t* acc, const void* a, const void* b);
extern "C" {
void lq_form_registers(int32_t*, const void*, const void*);
void lq_form_high_registers(int32_t*, const void*, const void*);
void lq_form_memory(int32_t*, const void*, const void*);
void lq_form_xmm(int32_t*, const void*, const void*);
void lq_form_index(int32_t*, const void*, const void*);
void lq_form_wide_displacement(int32_t*, const void*, const void*);
void lq_form_base_r12(int32_t*, const void*, const void*);
void lq_form_base_r13(int32_t*, const void*, const void*);
void lq_form_no_base(int32_t*, const void*, const void*);
void lq_form_relative(int32_t*, const void*, const void*);
}

namespace lq::test {
namespace {

struct Case {
  const char* name;
  Form run;
  bool words, saturates;  // int16 pairs; or uint8 by int8
  int lanes;
};
constexpr Case kForms[] = {
    {"registers", lq_form_registers, false, false, 8}, {"high registers", lq_form_high_registers, false, true, 8},
    {"memory", lq_form_memory, false, false, 8},       {"xmm", lq_form_xmm, false, false, 4},
    {"index", lq_form_index, true, false, 8},          {"wide displacement", lq_form_wide_displacement, true, true, 8},
    {"base r12", lq_form_base_r12, true, false, 8},    {"base r13", lq_form_base_r13, false, true, 8},
    {"no base", lq_form_no_base, false, false, 8},     {"relative", lq_form_relative, false, false, 8}};
constexpr int kFormCount = int(sizeof(kForms) / sizeof(kForms[0]));

/// What the Intel SDM says of vpdpbusd[s] and vpdpwssd[s].
void expect_form(const Case& c, uint32_t seed) {
  uint8_t a[32], b[32];
  int32_t acc[8], want[8];
  for (uint8_t* v : {a, b}) {
    for (int i = 0; i < 32; ++i) {
      seed = seed * 1664525 + 1013904223;
      v[i] = seed >> 30 == 0 ? (seed >> 29 & 1 ? 0xFF : 0x80) : uint8_t(seed >> 20);
    }
  }
  for (int i = 0; i < 8; ++i) {
    seed = seed * 1664525 + 1013904223;
    acc[i] = seed >> 31 ? INT32_MAX - int32_t(seed >> 16 & 0xFFF) : INT32_MIN + int32_t(seed >> 16 & 0xFFF);
    int64_t sum = acc[i];
    for (int j = 0; j < 4; ++j) {
      if (!c.words) sum += int64_t(a[4 * i + j]) * int8_t(b[4 * i + j]);
      if (c.words && j < 2)
        sum += int64_t(int16_t(a[4 * i + 2 * j] | a[4 * i + 2 * j + 1] << 8)) *
               int16_t(b[4 * i + 2 * j] | b[4 * i + 2 * j + 1] << 8);
    }
    if (c.saturates) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
    want[i] = i < c.lanes ? int32_t(uint64_t(sum)) : 0;  // a VEX instruction clears what lies above its operands
  }
  c.run(acc, a, b);
  for (int i = 0; i < 8; ++i) ASSERT_EQ(acc[i], want[i]) << c.name << ", lane " << i;
}

class AvxVnniTrap : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_isa_supported(Isa::kAvx2)) GTEST_SKIP() << "no AVX2 here: AVX-VNNI is not emulated";
    install_avxvnni_trap();
  }
};

TEST_F(AvxVnniTrap, EveryFormOfOperand) {
  const bool native = is_isa_supported(Isa::kAvxVnni);
  for (int i = 0; native && i < 100 * kFormCount; ++i) expect_form(kForms[i % kFormCount], uint32_t(i));
  const long before = trapped_instructions();
  EXPECT_EQ(before, 0);
  ASSERT_EQ(with_trapping_encoding(__start_lq_vnni_forms, __stop_lq_vnni_forms), kFormCount);
  for (int i = 0; i < 100 * kFormCount; ++i) expect_form(kForms[i % kFormCount], uint32_t(i));
  EXPECT_EQ(trapped_instructions() - before, 100 * kFormCount);
  std::printf("the expected values hold for the emulation%s\n", native ? ", and for this processor itself" : "");
}

TEST_F(AvxVnniTrap, KernelsEqualTheirScalarTwins) {
  const int found = with_trapping_encoding(__start_lq_vnni_text, __stop_lq_vnni_text);
  ASSERT_GT(found, 50) << "the kernels have hundreds of them";
  const long before = trapped_instructions();
  for (const KernelTable* table : {&kAvxVnniConvKernels, &kAvxVnniWinogradKernels}) {
    const int failed = check_rows(
        *table, 30, [](const char* kernel, int cases, int bad) { EXPECT_EQ(bad, 0) << kernel << ": of " << cases; });
    EXPECT_EQ(failed, 0);
  }
  EXPECT_GT(trapped_instructions() - before, 10000);
  std::printf("%d instructions made to trap, %ld emulated\n", found, trapped_instructions() - before);
}

}  // namespace
}  // namespace lq::test
