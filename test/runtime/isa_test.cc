#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "kernels/cpu_features.h"
#include "runtime/model.h"

namespace lq {
namespace {

using ::testing::HasSubstr;

TEST(Isa, NamesRoundTrip) {
  EXPECT_STREQ(isa_name(Isa::kScalar), "scalar");
  EXPECT_STREQ(isa_name(Isa::kSse41), "sse41");
  EXPECT_STREQ(isa_name(Isa::kAvx2), "avx2");
  ASSERT_TRUE(parse_isa("scalar").ok());
  EXPECT_EQ(*parse_isa("scalar"), Isa::kScalar);
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = parse_isa(isa_name(Isa(i)));
    const bool usable = is_isa_built(Isa(i)) && is_isa_supported(Isa(i));
    ASSERT_EQ(isa.ok(), usable) << isa_name(Isa(i));
    if (usable) {
      EXPECT_EQ(*isa, Isa(i));
    }
  }
}

TEST(Isa, UnknownAndUnsupportedSayWhatToUse) {
  const auto unknown = parse_isa("avx9");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(), HasSubstr("use one of: scalar"));
  if (!is_isa_built(Isa::kAvx2) || !is_isa_supported(Isa::kAvx2)) {
    EXPECT_EQ(parse_isa("avx2").status().code(), StatusCode::kUnsupported);
  }
}

TEST(Isa, EnvironmentForcesOne) {
  ::setenv("LIBQUANT_ISA", "scalar", 1);
  EXPECT_EQ(*default_isa(), Isa::kScalar);
  ::setenv("LIBQUANT_ISA", "mmx", 1);
  ASSERT_FALSE(default_isa().ok());
  EXPECT_THAT(default_isa().status().message(), HasSubstr("LIBQUANT_ISA"));
  ::setenv("LIBQUANT_ISA", "", 1);
  EXPECT_EQ(*default_isa(), best_isa());
  ::unsetenv("LIBQUANT_ISA");
  EXPECT_EQ(*default_isa(), best_isa());
}

// The kernel's own list of features is an independent source (qemu-user shows the host's).
TEST(CpuFeatures, AgreesWithProcCpuinfo) {
  if (!is_isa_built(Isa::kAvx2)) GTEST_SKIP() << "not an x86 build";
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (flags.empty() && std::getline(file, line)) {
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  EXPECT_EQ(is_isa_supported(Isa::kSse41),
            flags.find(" ssse3 ") != std::string::npos && flags.find(" sse4_1 ") != std::string::npos);
  const bool avx2 = flags.find(" avx2 ") != std::string::npos && flags.find(" fma ") != std::string::npos;
  EXPECT_EQ(is_isa_supported(Isa::kAvx2), avx2);
  EXPECT_EQ(is_isa_supported(Isa::kAvxVnni), avx2 && flags.find(" avx_vnni ") != std::string::npos);
  bool avx512 = avx2;
  for (const char* flag : {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"})
    avx512 = avx512 && flags.find(' ' + std::string(flag) + ' ') != std::string::npos;
  EXPECT_EQ(is_isa_supported(Isa::kAvx512Vnni), avx512);
}

}  // namespace
}  // namespace lq
