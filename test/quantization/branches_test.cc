// Models whose inputs are not free: an integer chooses a branch of an If, of which one cannot run.
#include <gmock/gmock.h>

#include <filesystem>

#include "calibration/npy.h"
#include "libquant/quantizer.hpp"
#include "passes/toolchain_graph.h"
#include "runtime/golden.h"
#include "runtime/session.h"

namespace lq {
namespace {

using test::GraphMaker;
using ::testing::HasSubstr;

/// Branch: x · w with w of `rows` rows.
Graph product_branch(const std::string& name, int64_t rows) {
  GraphMaker b;
  b.graph().name = name;
  const TensorId x = b.input(name + "_x", {1, -1});
  b.output(b.node(Op::MatMul, name + "_product",
                  {x, b.constant(name + "_w", {rows, 2}, std::vector<float>(size_t(rows) * 2, 0.5f))}));
  return std::move(b.model.graphs[0]);
}

/// rate == 16000 ? x·w[4,2] : x·w[8,2]. With x of 4 columns the second cannot run.
ModelIr rate_model() {
  GraphMaker m;
  const TensorId x = m.input("x", {1, -1});
  const TensorId rate = m.value("rate", {1}, DType::Int64);
  m.graph().inputs.push_back(rate);
  const TensorId relu = m.node(Op::Relu, "relu", {x});
  const TensorId is_16k = m.node(Op::Equal, "is_16k", {rate, m.ints({16000})});
  const TensorId y = m.node(Op::If, "choose", {is_16k, relu});
  m.graph().nodes.back().subgraphs = {1, 2};
  m.output(y);
  m.model.graphs.push_back(product_branch("wide", 4));
  m.model.graphs.push_back(product_branch("narrow", 8));
  m.finish();
  return std::move(m.model);
}

class Branches : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("lq_branches_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    for (const char* input : {"x", "rate"}) std::filesystem::create_directories(folder_ / input);
    for (int i = 0; i < 3; ++i) {
      const std::string file = "s" + std::to_string(i) + ".npy";
      const float x[] = {0.5f, -1.0f, float(i), 2.0f};
      const int64_t rate = 16000;
      ASSERT_TRUE(calibration::write_npy((folder_ / "x" / file).string(), DType::Float32, {1, 4}, x).ok());
      ASSERT_TRUE(calibration::write_npy((folder_ / "rate" / file).string(), DType::Int64, {1}, &rate).ok());
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  QuantizeOptions options() const {
    QuantizeOptions o;
    o.calibration_dir = folder_.string();
    return o;
  }
  std::filesystem::path folder_;
};

TEST_F(Branches, GoldenTestRunsWhereASampleDoes) {
  ModelIr model = rate_model();
  auto report = quantize(model, options());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->sample_shapes["x"], (std::vector<int64_t>{1, 4}));
  const Status status = add_golden(model, options(), *report);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(model.golden);
  EXPECT_EQ(model.golden->shapes, (std::vector<int64_t>{1, 4, 1}));  // x, rate
  const auto shared = Model::create(model);
  ASSERT_TRUE(shared.ok());
  const Status check = check_golden(*shared, {});
  EXPECT_TRUE(check.ok()) << check.message();
}

TEST_F(Branches, SayThatTheyStayFloatAndWhatHelps) {
  ModelIr model = rate_model();
  const auto report = quantize(model, options());
  ASSERT_TRUE(report.ok()) << report.status().message();
  std::string all;
  for (const auto& w : report->warnings) all += w.message + "; " + w.advice + "\n";
  EXPECT_THAT(all, HasSubstr("2 convolutions and matrix products inside branches of If stay float"));
  EXPECT_THAT(all, HasSubstr("input 'rate' chooses the branch: make it a constant with --fix-input rate=16000"));
}

TEST_F(Branches, WithoutASampleTheFileHasNoGoldenTestAndSaysWhy) {
  ModelIr model = rate_model();
  QuantizeOptions o;
  o.float_only = true;
  o.input_shapes["x"] = {1, 4};
  auto report = quantize(model, o);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const Status status = add_golden(model, o, *report);  // rates of 0…9 choose the other branch
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(model.golden);
  ASSERT_EQ(report->warnings.size(), 1u);
  EXPECT_THAT(report->warnings[0].message, HasSubstr("no golden self-test"));
  EXPECT_THAT(report->warnings[0].advice, HasSubstr("--fix-input"));
  const auto shared = Model::create(model);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(check_golden(*shared, {}).code(), StatusCode::kNotFound);
}

/// From the definition in runtime/golden.h: whole numbers of the range, both ends included.
TEST(GoldenInputs, IntegersLieInTheirCalibratedRange) {
  GraphMaker m;
  const TensorId ids = m.value("ids", {64}, DType::Int32);
  m.graph().inputs.push_back(ids);
  m.graph().tensor(ids).range = ValueRange{-2.5f, 3.0f};
  const TensorId free = m.value("free", {64}, DType::Int64);
  m.graph().inputs.push_back(free);
  m.graph().tensor(free).range = ValueRange{-3e38f, 3e38f};  // says nothing
  m.output(m.node(Op::Identity, "same", {ids}));
  m.output(m.node(Op::Identity, "free_same", {free}));
  m.finish();
  auto model = Model::create(m.model);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto session = Session::create(*model, {});
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE(fill_inputs_from_seed(**session, 1).ok());
  const int32_t* v = static_cast<const int32_t*>((*session)->input_data(0));
  EXPECT_EQ(*std::min_element(v, v + 64), -2);
  EXPECT_EQ(*std::max_element(v, v + 64), 3);
  const int64_t* w = static_cast<const int64_t*>((*session)->input_data(1));
  EXPECT_GE(*std::min_element(w, w + 64), 0);
  EXPECT_LE(*std::max_element(w, w + 64), 9);
}

}  // namespace
}  // namespace lq
