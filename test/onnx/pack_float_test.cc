// Real models in float: every model of ../shared/pack/models imports and runs; where ../shared/pack/ref has ONNX
// Runtime's outputs, ours are within 1e-4 of the output's largest magnitude.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "onnx/importer.h"
#include "onnx/npy.h"
#include "runtime/session.h"

namespace lq {
namespace {

namespace fs = std::filesystem;
const fs::path kPack = fs::path(LQ_SHARED_DIR) / "pack";

Result<std::shared_ptr<Model>> load(const fs::path& path, const ImportOptions& options = {}) {
  LQ_ASSIGN_OR_RETURN(ModelIr ir, import_onnx(path.string(), options));
  return Model::create(std::move(ir));
}

std::string file_name_of(std::string tensor) {
  std::replace(tensor.begin(), tensor.end(), '.', '_');
  return tensor;
}

struct Errors {
  double difference, magnitude;
};

/// Largest difference and largest expected magnitude.
Errors compare(const float* actual, const float* expected, size_t n) {
  Errors e{0, 1e-30};
  for (size_t i = 0; i < n; ++i) {
    if (std::isnan(actual[i])) return {INFINITY, 1};
    e.difference = std::max(e.difference, std::fabs(double(actual[i]) - double(expected[i])));
    e.magnitude = std::max(e.magnitude, std::fabs(double(expected[i])));
  }
  return e;
}

/// deeplab's reference is the class of each pixel; near ties may fall either way.
double argmax_agreement(const float* scores, size_t classes, const test::Npy& expected) {
  const size_t pixels = expected.data.size();
  size_t same = 0;
  for (size_t p = 0; p < pixels; ++p) {
    size_t best = 0;
    for (size_t c = 1; c < classes; ++c) {
      if (scores[c * pixels + p] > scores[best * pixels + p]) best = c;
    }
    same += best == uint8_t(expected.data[p]);
  }
  return double(same) / double(pixels);
}

/// ONNX Runtime's own Sigmoid is off by up to 1.2e-7 (measured against a double on the references' inputs), which is
/// more than 1e-4 of an output whose largest value is 9e-4 (yunet's obj_32).
double reference_error(const Graph& g, TensorId output) {
  const auto producers = producers_of(g);
  const int n = producers[size_t(output)];
  return n >= 0 && g.nodes[size_t(n)].op == Op::Sigmoid ? 1.2e-7 : 0.0;
}

/// Reference rows [row, row + batch) of one output against the session's.
void check_output(Session& session, size_t i, double allowed, const std::string& stem, int64_t row) {
  const Tensor& out = session.output(i);
  const float* actual = static_cast<const float*>(session.output_data(i));
  const fs::path file = kPack / "ref" / (stem + ".out." + file_name_of(out.name) + ".npy");
  if (!fs::exists(file)) {
    const auto classes = test::read_npy((kPack / "ref" / (stem + ".out.argmax.npy")).string());
    ASSERT_TRUE(classes) << file;
    const double agreement = argmax_agreement(actual, size_t(out.shape[1]), *classes);
    std::printf("  %-44s %-20s same class in %.6f of the pixels\n", stem.c_str(), out.name.c_str(), agreement);
    EXPECT_GT(agreement, 0.9999) << stem;
    return;
  }
  const auto expected = test::read_npy(file.string());
  ASSERT_TRUE(expected) << file;
  const size_t count = size_t(element_count(out.shape)), begin = count * size_t(row);
  ASSERT_LE((begin + count) * 4, expected->data.size()) << stem << " " << out.name;
  const Errors error = compare(actual, expected->floats() + begin, count);
  std::printf("  %-44s %-20s %.2e\n", stem.c_str(), out.name.c_str(), error.difference / error.magnitude);
  EXPECT_LE(error.difference, 1e-4 * error.magnitude + allowed) << stem << " output " << out.name;
}

/// A model of fixed batch 1 runs once for each row of the reference.
void run_against_reference(const fs::path& path) {
  const std::string stem = path.stem().string();
  auto model = load(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  SessionOptions options;
  std::map<std::string, test::Npy> inputs;
  const Graph& g = (*model)->ir().main();
  int64_t runs = 1;
  for (TensorId id : g.inputs) {
    const Tensor& t = g.tensor(id);
    const auto npy = test::read_npy((kPack / "ref" / (stem + ".in." + file_name_of(t.name) + ".npy")).string());
    ASSERT_TRUE(npy) << stem << " input " << t.name;
    inputs[t.name] = *npy;
    Shape shape = npy->shape;
    if (t.ranked && t.shape[0] == 1) {
      runs = shape[0];
      shape[0] = 1;
    }
    options.input_shapes[t.name] = shape;
  }
  auto session = Session::create(*model, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (int64_t run = 0; run < runs; ++run) {
    for (size_t i = 0; i < (*session)->input_count(); ++i) {
      const Tensor& t = (*session)->input(i);
      const size_t bytes = size_t(element_count(t.shape)) * 4;
      std::memcpy((*session)->input_data(i), inputs[t.name].data.data() + bytes * size_t(run), bytes);
    }
    const Status ran = (*session)->run();
    ASSERT_TRUE(ran.ok()) << ran.message();
    for (size_t i = 0; i < (*session)->output_count(); ++i) {
      check_output(**session, i, reference_error(g, g.outputs[i]), stem, run);
    }
  }
}

bool has_reference(const fs::path& model) {
  const std::string prefix = model.stem().string() + ".in.";
  for (const auto& entry : fs::directory_iterator(kPack / "ref")) {
    if (entry.path().filename().string().compare(0, prefix.size(), prefix) == 0) return true;
  }
  return false;
}

TEST(PackFloat, EveryModelWithAReferenceMatchesIt) {
  if (!fs::exists(kPack / "models")) GTEST_SKIP() << kPack << " is absent: 20 models skipped";
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator(kPack / "models")) {
    if (entry.path().extension() == ".onnx" && has_reference(entry.path())) models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  const char* only = std::getenv("LQ_PACK_MODEL");
  for (const fs::path& model : models) {
    if (only != nullptr && model.filename().string().find(only) == std::string::npos) continue;
    run_against_reference(model);
  }
}

/// Models without reference tensors: they run and give finite numbers that depend on the input.
TEST(PackFloat, ModelsWithoutReferenceRun) {
  const std::pair<const char*, Shape> kModels[] = {{"ch_ppocr_mobile_v2.0_cls_infer", {1, 3, 48, 192}},
                                                   {"tf2_mobilenet_v2_1.0_224_offgrid_fp32", {1, 3, 224, 224}}};
  if (!fs::exists(kPack / "models")) GTEST_SKIP() << kPack << " is absent: 2 models skipped";
  for (const auto& [name, shape] : kModels) {
    auto model = load(kPack / "models" / (std::string(name) + ".onnx"));
    ASSERT_TRUE(model.ok()) << model.status().message();
    SessionOptions options;
    options.input_shapes[(*model)->ir().main().tensor((*model)->ir().main().inputs[0]).name] = shape;
    auto session = Session::create(*model, options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    float* x = static_cast<float*>((*session)->input_data(0));
    for (int64_t i = 0; i < element_count(shape); ++i) x[i] = std::sin(float(i) * 0.01f);
    ASSERT_TRUE((*session)->run().ok());
    const float* y = static_cast<const float*>((*session)->output_data(0));
    bool differs = false;
    for (int64_t i = 0; i < element_count((*session)->output(0).shape); ++i) {
      EXPECT_TRUE(std::isfinite(y[i]));
      differs |= y[i] != y[0];
    }
    EXPECT_TRUE(differs);
  }
}

/// stories260K: the logits of the last position for a prompt, from the model's own C implementation.
TEST(PackFloat, Stories260KLogits) {
  if (!fs::exists(kPack / "models")) GTEST_SKIP() << kPack << " is absent: 1 model skipped";
  const int64_t ids[] = {1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421};
  auto model = load(kPack / "models" / "stories260K.onnx");
  ASSERT_TRUE(model.ok()) << model.status().message();
  SessionOptions options;
  options.input_shapes["input_ids"] = {1, 13};
  auto session = Session::create(*model, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  std::memcpy((*session)->input_data(0), ids, sizeof(ids));
  ASSERT_TRUE((*session)->run().ok());
  ASSERT_EQ((*session)->output(0).shape, (Shape{1, 13, 512}));
  std::ifstream file(kPack / "llm" / "once_upon_logits_row.txt");
  std::stringstream text;
  text << file.rdbuf();
  std::string numbers = text.str();
  for (char& c : numbers) {
    if (c == ',' || c == '[' || c == ']') c = ' ';
  }
  std::stringstream stream(numbers);
  std::vector<float> expected;
  for (float v; stream >> v;) expected.push_back(v);
  ASSERT_EQ(expected.size(), 512u);
  const float* row = static_cast<const float*>((*session)->output_data(0)) + 12 * 512;
  const Errors error = compare(row, expected.data(), 512);
  EXPECT_LE(error.difference, 1e-4 * error.magnitude);
}

/// silero: 214 of the 343 frames of jfk.wav are speech (as the pack says). Once with the sample rate as a
/// run-time input (the outer If decides while running), once fixed (the If is folded).
int speech_frames(Session& session, bool rate_is_input, const std::vector<float>& audio) {
  std::vector<float> state(2 * 128, 0.0f), frame(576, 0.0f);
  int speech = 0;
  for (size_t begin = 0; begin + 512 <= audio.size(); begin += 512) {
    std::copy(frame.end() - 64, frame.end(), frame.begin());
    std::copy(audio.begin() + long(begin), audio.begin() + long(begin) + 512, frame.begin() + 64);
    for (size_t i = 0; i < session.input_count(); ++i) {
      const std::string& name = session.input(i).name;
      const int64_t rate = 16000;
      if (name == "input")
        std::memcpy(session.input_data(i), frame.data(), frame.size() * 4);
      else if (name == "state")
        std::memcpy(session.input_data(i), state.data(), state.size() * 4);
      else if (rate_is_input)
        std::memcpy(session.input_data(i), &rate, 8);
    }
    if (!session.run().ok()) return -1;
    for (size_t i = 0; i < session.output_count(); ++i) {
      const float* y = static_cast<const float*>(session.output_data(i));
      if (session.output(i).name == "output")
        speech += y[0] > 0.5f;
      else
        std::copy(y, y + state.size(), state.begin());
    }
  }
  return speech;
}

void expect_speech(bool rate_is_input) {
  if (!fs::exists(kPack / "models")) GTEST_SKIP() << kPack << " is absent: 1 model skipped";
  std::ifstream file(kPack / "audio" / "jfk.wav", std::ios::binary);
  const std::string wav((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t data = wav.find("data");
  ASSERT_NE(data, std::string::npos);
  std::vector<float> audio((wav.size() - data - 8) / 2);
  for (size_t i = 0; i < audio.size(); ++i) {
    int16_t sample;
    std::memcpy(&sample, wav.data() + data + 8 + i * 2, 2);
    audio[i] = float(sample) / 32768.0f;
  }
  ImportOptions options;
  if (!rate_is_input) options.fixed_inputs["sr"].text = "16000";
  auto model = load(kPack / "models" / "silero_vad_v5.onnx", options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  SessionOptions session_options;
  session_options.input_shapes = {{"input", {1, 576}}, {"state", {2, 1, 128}}};
  auto session = Session::create(*model, session_options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_EQ(speech_frames(**session, rate_is_input, audio), 214);
}

TEST(PackFloat, SileroWithItsIfFolded) { expect_speech(false); }
TEST(PackFloat, SileroWithItsIfAtRunTime) { expect_speech(true); }

}  // namespace
}  // namespace lq
