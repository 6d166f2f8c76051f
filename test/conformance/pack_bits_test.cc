// The product's promise on real models: quantized, written and read back, each gives the same bits in the naive reference, in
// the scalar plan and in every faster plan at 1, 2 and 4 threads; and its golden hash says so. Nearly all multiply-adds run
// on the fast kernels and, in classifiers, on int8.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "conformance/quantized_case.h"
#include "format/model_file.h"
#include "kernels/cpu_features.h"
#include "reference/reference.h"
#include "runtime/golden.h"
#include "runtime/session.h"

namespace lq::conformance {
namespace {

constexpr size_t kSamples = 4;

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

class PackBits : public ::testing::TestWithParam<ModelCase> {
 protected:
  Result<std::shared_ptr<Model>> quantized_model();
  std::vector<reference::Value> sample_inputs(const Model& model);

  const ScratchFolder scratch_{"conformance_" + GetParam().name};
  std::string calibration_folder_;
};

/// Imported, quantized, given its golden hash by the scalar plan, written and read back.
Result<std::shared_ptr<Model>> PackBits::quantized_model() {
  const ModelCase& c = GetParam();
  LQ_ASSIGN_OR_RETURN(QuantizedCase quantized, quantize_case(c, scratch_, kSamples));
  calibration_folder_ = quantized.calibration_folder;
  ModelIr& ir = quantized.ir;
  SessionOptions session_options;
  session_options.input_shapes = c.shapes;
  session_options.isa = Isa::kScalar;
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> scalar, Model::create(ir));
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::create(scalar, session_options));
  if (c.golden) {
    LQ_ASSIGN_OR_RETURN(ir.golden, make_golden(*session, 7));
  }
  LQ_ASSIGN_OR_RETURN(const Bytes file, serialize_model(ir));
  LQ_ASSIGN_OR_RETURN(ModelIr read, read_model(file));
  return Model::create(std::move(read));
}

/// The first calibration sample, as the model is fed in the field.
std::vector<reference::Value> PackBits::sample_inputs(const Model& model) {
  auto source = open_samples(GetParam(), model.ir(), calibration_folder_, 1);
  std::vector<reference::Value> inputs;
  if (!source.ok()) return inputs;
  auto sample = source->load(0);
  if (!sample.ok()) return inputs;
  for (const calibration::HostTensor& t : sample->inputs) inputs.push_back({t.dtype, t.shape, *Bytes::copy_of(t.data.data(), t.data.size())});
  return inputs;
}

/// Where the session's outputs differ from the reference's.
std::string difference(const std::vector<reference::Value>& expected, const Session& session) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& t = session.output(i);
    if (t.shape != expected[i].shape || t.dtype != expected[i].dtype) return "output '" + t.name + "' has another shape or type";
    const size_t size = dtype_size(t.dtype), count = size_t(element_count(t.shape));
    const uint8_t *actual = static_cast<const uint8_t*>(session.output_data(i)), *wanted = expected[i].data.data();
    size_t wrong = 0;
    for (size_t k = 0; k < count; ++k) wrong += std::memcmp(actual + k * size, wanted + k * size, size) != 0;
    if (wrong > 0) return std::to_string(wrong) + " of " + std::to_string(count) + " values of output '" + t.name + "' differ";
  }
  return "";
}

struct Shares {
  int64_t macs = 0;
  double fast = 1, int8 = 1;
};

/// Of the multiply-adds of the plan: the share on the session's own ISA.
Shares shares_of(const Session& session, Isa isa) {
  Shares s;
  int64_t fast = 0;
  for (const Step& step : session.steps()) {
    s.macs += step.macs;
    fast += step.isa == isa || (isa != Isa::kScalar && step.isa == fallback_isa(isa)) ? step.macs : 0;
  }
  if (s.macs > 0) s.fast = double(fast) / double(s.macs);
  s.int8 = session.int8_mac_share();
  return s;
}

TEST_P(PackBits, EveryPlanHasTheBitsOfTheReference) {
  const ModelCase& c = GetParam();
  if (!is_present(c)) GTEST_SKIP() << c.model << " is absent: 1 model skipped";
  const auto start = std::chrono::steady_clock::now();
  auto model = quantized_model();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<reference::Value> inputs = sample_inputs(**model);
  ASSERT_EQ(inputs.size(), (*model)->ir().main().inputs.size());
  const double quantized = seconds_since(start);
  const auto expected = reference::interpret((*model)->ir(), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const double interpreted = seconds_since(start) - quantized;

  Shares shares;
  for (int i = 0; i < kIsaCount; ++i) {
    const Isa isa = Isa(i);
    if (!is_isa_built(isa) || !is_isa_supported(isa)) continue;
    for (const int threads : {1, 2, 4}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + ", threads: " + std::to_string(threads));
      SessionOptions options;
      options.isa = isa;
      options.threads = threads;
      for (size_t i = 0; i < inputs.size(); ++i) {
        options.input_shapes[(*model)->ir().main().tensor((*model)->ir().main().inputs[i]).name] = inputs[i].shape;
      }
      auto session = Session::create(*model, options);
      ASSERT_TRUE(session.ok()) << session.status().message();
      for (size_t i = 0; i < inputs.size(); ++i) std::memcpy((*session)->input_data(i), inputs[i].data.data(), inputs[i].data.size());
      const Status ran = (*session)->run();
      ASSERT_TRUE(ran.ok()) << ran.message();
      EXPECT_EQ(difference(*expected, **session), "");
      shares = shares_of(**session, isa);
      const Status golden = c.golden ? check_golden(*model, options) : Status();
      EXPECT_TRUE(golden.ok()) << golden.message();
    }
  }
  std::printf("  %-22s %8.1f M multiply-adds, fast %.4f, int8 %.4f; quantized in %.1f s, reference %.1f s, all %.1f s\n", c.name.c_str(),
              double(shares.macs) * 1e-6, shares.fast, shares.int8, quantized, interpreted, seconds_since(start));
  EXPECT_GE(shares.fast, 0.95);
  EXPECT_GE(shares.int8, c.classifier ? 0.99 : 0.0);
}

/// A batch of three in a resized session has the bits of three single runs, whatever was computed before.
class PackBatches : public PackBits {};
TEST_P(PackBatches, ABatchHasTheBitsOfItsSamples) {
  const ModelCase& c = GetParam();
  if (!is_present(c)) GTEST_SKIP() << c.model << " is absent: 1 model skipped";
  auto model = quantized_model();
  ASSERT_TRUE(model.ok()) << model.status().message();
  SessionOptions options;
  options.threads = 2;
  options.input_shapes = c.shapes;
  auto session = Session::create(*model, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::string name = (*session)->input(0).name;
  Shape shape = (*session)->input(0).shape;
  const size_t bytes = size_t(element_count(shape)) * 4;
  const auto output = [](const Session& s) { return std::string(static_cast<const char*>(s.output_data(0)), size_t(element_count(s.output(0).shape)) * 4); };
  std::string inputs, singles;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    ASSERT_TRUE(fill_inputs_from_seed(**session, seed).ok());
    inputs.append(static_cast<const char*>((*session)->input_data(0)), bytes);
    ASSERT_TRUE((*session)->run().ok());
    singles += output(**session);
  }
  shape[0] = 3;
  const Status resized = (*session)->resize({{name, shape}});
  ASSERT_TRUE(resized.ok()) << resized.message();
  std::memcpy((*session)->input_data(0), inputs.data(), inputs.size());
  ASSERT_TRUE((*session)->run().ok());
  EXPECT_TRUE(output(**session) == singles);
}

std::vector<ModelCase> batch_cases() {
  std::vector<ModelCase> cases = model_cases();
  std::erase_if(cases, [](const ModelCase& c) { return !c.batches; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, PackBits, ::testing::ValuesIn(model_cases()), [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, PackBatches, ::testing::ValuesIn(batch_cases()), [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lq::conformance
