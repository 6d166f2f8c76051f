// What INT8 is for, in detectors: the quantized model finds the faces and objects the float model finds, in the same
// places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "conformance/detectors.h"
#include "conformance/quantized_case.h"
#include "conformance/task_case.h"

namespace lq::conformance {
namespace {

struct DetectorCase {
  std::string model;                       // name of its ModelCase
  std::map<std::string, size_t> expected;  // what is in the image, counted by eye (the pack's MANIFEST.md)
  bool exact = true;                       // INT8 finds just as many of them
};
inline void PrintTo(const DetectorCase& d, std::ostream* out) { *out << d.model; }

/// 26.jpg is a crowd of some 60 faces that nobody counted. FastestDet sees the four persons; the frisbee scores 0.51,
/// and in the other picture a third object 0.638, close to its threshold of 0.65.
std::vector<DetectorCase> detector_cases() {
  return {
      {"yunet", {{"2.jpg", 4}, {"5.jpg", 1}, {"9.jpg", 8}, {"16.jpg", 9}}},
      {"ultraface", {{"2.jpg", 4}, {"5.jpg", 1}, {"9.jpg", 8}, {"16.jpg", 9}}},
      {"fastestdet", {{"fd_3.jpg", 4}, {"yfv2_test.jpg", 2}}, false},
  };
}

ModelCase case_named(const std::string& name) {
  for (const ModelCase& c : model_cases()) {
    if (c.name == name) return c;
  }
  ADD_FAILURE() << "no model case '" << name << "'";
  return {};
}

struct Found {
  std::vector<Detection> sure;    // over the threshold
  std::vector<Detection> likely;  // and those at most kLeniency below it
};
/// A box whose score lies on the threshold is found by one of two equally good models: it must be at least likely to
/// the other.
constexpr float kLeniency = 0.05f;
constexpr float kLeastOverlap = 0.5f;
constexpr double kLeastMeanOverlap = 0.9;

Result<Found> detect(const std::string& detector, Session& session, const calibration::Sample& sample) {
  std::memcpy(session.input_data(0), sample.inputs[0].data.data(), sample.inputs[0].data.size());
  LQ_RETURN_IF_ERROR(session.run());
  return Found{decode(detector, session, 0), decode(detector, session, kLeniency)};
}

/// IoU of each wanted box with the unused found one of its class that overlaps it most, best scores first.
std::vector<float> match(const std::vector<Detection>& wanted, std::vector<Detection> found) {
  std::vector<float> overlaps;
  for (const Detection& w : wanted) {
    size_t best = found.size();
    float overlap = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].label == w.label && iou(w, found[i]) > overlap) best = i, overlap = iou(w, found[i]);
    }
    overlaps.push_back(overlap);
    if (best < found.size()) found.erase(found.begin() + long(best));
  }
  return overlaps;
}

class Detectors : public ::testing::TestWithParam<DetectorCase> {};

TEST_P(Detectors, Int8FindsWhatFloatFinds) {
  const DetectorCase& d = GetParam();
  const ModelCase c = case_named(d.model);
  if (!is_present(c)) GTEST_SKIP() << c.model << " is absent: 1 detector skipped";
  const ScratchFolder scratch("detector_" + c.name);
  auto float_ir = import_case(c);
  ASSERT_TRUE(float_ir.ok()) << float_ir.status().message();
  auto quantized = quantize_case(c, scratch, 0);
  ASSERT_TRUE(quantized.ok()) << quantized.status().message();
  auto images = open_samples(c, *float_ir, resolve(c.images).string(), 0);
  ASSERT_TRUE(images.ok()) << images.status().message();
  const auto session_of = [](const ModelIr& ir) {
    return Session::create(Model::create(ir).value(), SessionOptions());
  };
  auto float_session = session_of(*float_ir), int8_session = session_of(quantized->ir);
  ASSERT_TRUE(float_session.ok() && int8_session.ok());
  EXPECT_GE((*int8_session)->int8_mac_share(), 0.9) << "hardly anything of it is INT8";

  size_t known = 0, of_both[2] = {0, 0};
  std::vector<float> overlaps;
  for (size_t i = 0; i < images->size(); ++i) {
    SCOPED_TRACE(images->name(i));
    const auto sample = images->load(i);
    ASSERT_TRUE(sample.ok()) << sample.status().message();
    const auto wanted = detect(d.model, **float_session, *sample), found = detect(d.model, **int8_session, *sample);
    ASSERT_TRUE(wanted.ok() && found.ok());
    const auto counted = d.expected.find(images->name(i));
    if (counted != d.expected.end()) {
      ++known;
      EXPECT_EQ(wanted->sure.size(), counted->second) << "the float model or its decoding is wrong";
      if (d.exact) {
        EXPECT_EQ(found->sure.size(), counted->second);
      }
    }
    of_both[0] += wanted->sure.size(), of_both[1] += found->sure.size();
    // Elsewhere counts may differ by boxes whose score lies within kLeniency of the threshold: 26.jpg has a face of
    // 0.7001 and one of 0.6992 beside the 0.7 of RFB. The pairs below say which those are.
    std::printf("  %s %s: %zu in float, %zu in INT8\n", c.name.c_str(), images->name(i).c_str(), wanted->sure.size(),
                found->sure.size());
    const auto is_missed = [](float overlap) { return overlap < kLeastOverlap; };
    const std::vector<float> of_int8 = match(found->sure, wanted->likely),
                             of_float = match(wanted->sure, found->likely);
    EXPECT_EQ(std::count_if(of_float.begin(), of_float.end(), is_missed), 0) << "boxes that INT8 does not find";
    EXPECT_EQ(std::count_if(of_int8.begin(), of_int8.end(), is_missed), 0) << "boxes that only INT8 finds";
    overlaps.insert(overlaps.end(), of_float.begin(), of_float.end());
  }
  EXPECT_EQ(known, d.expected.size()) << "images are missing";
  ASSERT_FALSE(overlaps.empty());
  const double mean = std::accumulate(overlaps.begin(), overlaps.end(), 0.0) / double(overlaps.size());
  std::printf("  %s: %zu boxes, IoU mean %.3f, lowest %.3f\n", c.name.c_str(), overlaps.size(), mean,
              double(*std::min_element(overlaps.begin(), overlaps.end())));
  print_task(c.name + ": boxes found; their mean IoU with float's", text("%zu", of_both[0]),
             text("%zu; %.3f", of_both[1], mean), "the same, ≥ 0.9");
  EXPECT_GE(mean, kLeastMeanOverlap);
}

INSTANTIATE_TEST_SUITE_P(Models, Detectors, ::testing::ValuesIn(detector_cases()),
                         [](const auto& test) { return test.param.model; });

}  // namespace
}  // namespace lq::conformance
