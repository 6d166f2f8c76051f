// What the tools say of the files made from real models: they are small, and the AVX2 kernels do the work and pay off.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "conformance/quantized_case.h"
#include "format/model_file.h"
#include "kernels/cpu_features.h"
#include "runtime/model.h"

namespace lq::conformance {
namespace {

constexpr double kLargestShareOfOnnx = 0.28;      // int8 weights are a quarter of float ones; the rest is graph
constexpr uintmax_t kSmallestJudged = 1'000'000;  // below it the graph weighs too much
constexpr int kRounds = 5;

/// Standard output of lq-benchmark, which must succeed.
std::string benchmark(const std::filesystem::path& model, const std::string& options) {
  const std::string command = std::string("'" LQ_TOOLS_DIR "/lq-benchmark' '") + model.string() + "' " + options;
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

/// The number after `key` and a blank; NaN if there is none.
double number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find(key + " ");
  return at == std::string::npos ? std::nan("") : std::strtod(text.c_str() + at + key.size() + 1, nullptr);
}

std::string shape_options(const ModelCase& c) {
  std::string options;
  for (const auto& [name, shape] : c.shapes) {
    options += " --input-shape '" + name + ":";
    for (size_t i = 0; i < shape.size(); ++i) options += (i > 0 ? "," : "") + std::to_string(shape[i]);
    options += "'";
  }
  return options;
}

bool has_avx2() { return is_isa_built(Isa::kAvx2) && is_isa_supported(Isa::kAvx2); }

class Files : public ::testing::TestWithParam<ModelCase> {
 protected:
  /// Quantizes and writes the case as the tool does. Skips the test where the pack is absent.
  void write() {
    const ModelCase& c = GetParam();
    if (!is_present(c)) GTEST_SKIP() << c.model << " is absent: 1 model skipped";
    auto quantized = quantize_case(c, scratch_, 2);
    ASSERT_TRUE(quantized.ok()) << quantized.status().message();
    const Status written = write_model_file(quantized->ir, model_.string());
    ASSERT_TRUE(written.ok()) << written.message();
  }

  const ScratchFolder scratch_{"files_" + GetParam().name};
  const std::filesystem::path model_ = scratch_ / "model.lqm";
};

TEST_P(Files, AreSmallAndRunOnTheKernelsAskedFor) {
  ASSERT_NO_FATAL_FAILURE(write());
  if (IsSkipped()) return;
  const ModelCase& c = GetParam();
  const uintmax_t onnx = std::filesystem::file_size(resolve(c.model)), lqm = std::filesystem::file_size(model_);
  std::printf("  %-22s %8ju bytes of ONNX, %8ju of .lqm: %.3f\n", c.name.c_str(), onnx, lqm,
              double(lqm) / double(onnx));
  if (onnx > kSmallestJudged) {
    EXPECT_LE(double(lqm), kLargestShareOfOnnx * double(onnx));
  }
  if (!has_avx2()) GTEST_SKIP() << "no AVX2 here: kernels not looked at";
  const std::string options = "--iterations 1 --warmup 0 --profile --threads 2" + shape_options(c);
  const std::string avx2 = benchmark(model_, options + " --isa avx2"),
                    scalar = benchmark(model_, options + " --isa scalar");
  EXPECT_GE(number_after(avx2, "mac_share_avx2"), 0.95) << avx2;
  EXPECT_EQ(number_after(scalar, "mac_share_scalar"), 1) << scalar;
}

/// Runs are interleaved, so that whatever else the machine does meets both.
class Speed : public Files {};
TEST_P(Speed, VectorKernelsAreFasterThanScalarOnes) {
  struct Fast {
    Isa isa;
    double least;  // times the speed of scalar
    std::vector<double> ms;
  };
  std::vector<Fast> all;
  for (const auto& [isa, least] : {std::pair<Isa, double>{Isa::kSse41, 3}, {Isa::kAvx2, 4}}) {
    if (is_isa_built(isa) && is_isa_supported(isa)) all.push_back({isa, least, {}});
  }
  if (all.empty()) GTEST_SKIP() << "no SSE4.1 here: 1 model skipped";
  ASSERT_NO_FATAL_FAILURE(write());
  if (IsSkipped()) return;
  std::vector<double> scalar;
  for (int round = 0; round < kRounds; ++round) {
    scalar.push_back(number_after(benchmark(model_, "--iterations 3 --warmup 1 --isa scalar"), "median"));
    for (Fast& f : all)
      f.ms.push_back(number_after(benchmark(model_, std::string("--iterations 20 --warmup 3 --isa ") + isa_name(f.isa)),
                                  "median"));
  }
  std::sort(scalar.begin(), scalar.end());
  const double slow = scalar[kRounds / 2];
  std::printf("  %-22s scalar %.3f ms", GetParam().name.c_str(), slow);
  for (Fast& f : all) {
    std::sort(f.ms.begin(), f.ms.end());
    const double fast = f.ms[kRounds / 2];
    std::printf(", %s %.3f ms: %.1f times faster", isa_name(f.isa), fast, slow / fast);
    EXPECT_GE(slow / fast, f.least) << isa_name(f.isa);
  }
  std::printf("\n");
}

/// Everything but the sequence models, whose weights are not those of convolutions.
std::vector<ModelCase> convolutional_cases() {
  std::vector<ModelCase> cases = model_cases();
  std::erase_if(cases,
                [](const ModelCase& c) { return c.name == "silero" || c.name == "silero_if" || c.name == "stories"; });
  return cases;
}

/// Nets that run long enough to be timed.
std::vector<ModelCase> timed_cases() {
  std::vector<ModelCase> cases = model_cases();
  const std::vector<std::string> timed = {"example_resnet8", "example_vww", "resnet56", "mobilenet_v2"};
  std::erase_if(cases,
                [&](const ModelCase& c) { return std::find(timed.begin(), timed.end(), c.name) == timed.end(); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, Files, ::testing::ValuesIn(convolutional_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, Speed, ::testing::ValuesIn(timed_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lq::conformance
