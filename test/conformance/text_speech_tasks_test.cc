// What INT8 is for, in reading and listening: the same text on a page, the same frames of speech.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "conformance/task_case.h"
#include "conformance/text_lines.h"

namespace lq::conformance {
namespace {

using calibration::Image;

// ---- Reading a page: one network finds the lines, another reads each.

constexpr int kLineHeight = 48, kLineWidth = 960;

Result<Image> page_of_size(const char* name, int width, int height) {
  LQ_ASSIGN_OR_RETURN(const Image gray,
                      calibration::read_image(resolve("pack/images/ocr").string() + "/" + name, true));
  return resized(in_color(gray, schema::Color::Bgr), width, height);
}

std::vector<float> page_input(const Image& page) {
  return planes(page, {123.675f, 116.28f, 103.53f}, {58.395f, 57.12f, 57.375f});
}

/// A line of text as the reader takes it: 48 high, padded to the right with 0 after normalisation.
std::vector<float> line_input(const Image& page, const TextBox& box) {
  Image line = calibration::make_image(box.x2 - box.x1, box.y2 - box.y1, 3);
  for (int y = 0; y < line.height; ++y)
    std::memcpy(line.row(y), page.row(box.y1 + y) + box.x1 * 3, size_t(line.width) * 3);
  const int width = std::clamp(int(std::nearbyint(double(line.width) * kLineHeight / line.height)), 8, kLineWidth);
  const std::vector<float> values =
      planes(resized(line, width, kLineHeight), {127.5f, 127.5f, 127.5f}, {127.5f, 127.5f, 127.5f});
  std::vector<float> input(size_t(3) * kLineHeight * kLineWidth, 0.0f);
  for (size_t row = 0; row < size_t(3) * kLineHeight; ++row)
    std::copy_n(values.begin() + std::ptrdiff_t(row * size_t(width)), width,
                input.begin() + std::ptrdiff_t(row * kLineWidth));
  return input;
}

Result<std::vector<TextBox>> find_lines(Session& session, const Image& page) {
  LQ_RETURN_IF_ERROR(session.resize({{session.input(0).name, {1, 3, page.height, page.width}}}));
  LQ_RETURN_IF_ERROR(run_floats(session, {page_input(page)}));
  return find_text(output_floats(session, 0), page.width, page.height);
}

const ModelCase kFinder{"ocr_detect", "pack/models/ch_PP-OCRv4_det_infer.onnx", "", {}, {{"x", {1, 3, 384, 768}}},
                        false};
const ModelCase kReader{"ocr_read", "pack/models/ch_PP-OCRv4_rec_infer.onnx", "",
                        {},         {{"x", {1, 3, kLineHeight, kLineWidth}}}, false};

/// Calibration at other sizes than the one that is judged: pages for the finder, the lines on them for the reader.
Status write_calibration(const ScratchFolder& scratch) {
  struct View {
    const char* file;
    int width, height;
  };
  LQ_ASSIGN_OR_RETURN(ModelIr ir, import_case(kFinder));
  LQ_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Model::create(std::move(ir)));
  SessionOptions options;
  options.input_shapes = kFinder.shapes;
  LQ_ASSIGN_OR_RETURN(const auto finder, Session::create(model, options));
  size_t lines = 0, pages = 0;
  for (const View& v : {View{"page.png", 576, 288}, View{"page.png", 672, 320}, View{"page.png", 960, 480},
                        View{"text.png", 448, 160}, View{"text.png", 896, 352}}) {
    LQ_ASSIGN_OR_RETURN(const Image page, page_of_size(v.file, v.width, v.height));
    LQ_RETURN_IF_ERROR(write_sample(scratch / "pages", "", std::to_string(100 + pages++), {1, 3, v.height, v.width},
                                    page_input(page)));
    LQ_ASSIGN_OR_RETURN(const std::vector<TextBox> boxes, find_lines(*finder, page));
    for (const TextBox& box : boxes)
      LQ_RETURN_IF_ERROR(write_sample(scratch / "lines", "", std::to_string(100 + lines++),
                                      {1, 3, kLineHeight, kLineWidth}, line_input(page, box)));
  }
  return {};
}

Result<std::vector<std::string>> read_page(Session& finder, Session& reader, const std::vector<std::string>& keys) {
  LQ_ASSIGN_OR_RETURN(const Image page, page_of_size("page.png", 768, 384));
  LQ_ASSIGN_OR_RETURN(const std::vector<TextBox> boxes, find_lines(finder, page));
  std::vector<std::string> lines;
  for (const TextBox& box : boxes) {
    LQ_RETURN_IF_ERROR(run_floats(reader, {line_input(page, box)}));
    lines.push_back(read_text(output_floats(reader, 0), size_t(reader.output(0).shape[2]), keys));
  }
  return lines;
}

TEST(TextAndSpeechTasks, TheSameTextIsReadOnAPage) {
  if (!is_present(kFinder) || !is_present(kReader)) GTEST_SKIP() << kReader.model << " is absent: 1 task skipped";
  const ScratchFolder scratch("task_ocr");
  const auto keys = read_lines(resolve("pack/models/ppocr_keys_v1.txt").string());
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  const Status written = write_calibration(scratch);
  ASSERT_TRUE(written.ok()) << written.message();
  auto finder = quantize_for_task(kFinder, (scratch / "pages").string(), 0);
  ASSERT_TRUE(finder.ok()) << finder.status().message();
  auto reader = quantize_for_task(kReader, (scratch / "lines").string(), 0);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto in_float = read_page(*finder->in_float, *reader->in_float, *keys),
             in_int8 = read_page(*finder->in_int8, *reader->in_int8, *keys);
  ASSERT_TRUE(in_float.ok() && in_int8.ok());
  ASSERT_EQ(in_float->size(), 7u) << "the float model or its decoding is wrong";
  ASSERT_EQ(in_int8->size(), in_float->size());
  size_t same = 0, letters = 0, edits = 0;
  for (size_t i = 0; i < in_float->size(); ++i) {
    const std::string &a = (*in_float)[i], &b = (*in_int8)[i];
    std::printf("  %s\n", a.c_str());
    if (a != b) std::printf("  INT8: %s\n", b.c_str());
    same += a == b, letters += a.size(), edits += edit_distance(a, b);
  }
  print_task("text on page.png: lines", text("%zu", in_float->size()),
             text("%zu, %zu the same; %zu of %zu letters differ", in_int8->size(), same, edits, letters),
             "the same text");
  // The last line is cut in half by the page's edge and misread in float, too; what differs must stay about that much.
  EXPECT_LE(double(edits), 0.1 * double(letters));
}

// ---- Speech: frames of 512 samples, each seen with the 64 before it; the state goes from frame to frame.

constexpr size_t kFrame = 512, kContext = 64, kState = 2 * 128;
const ModelCase kVad{
    "silero",         "pack/models/silero_vad_v5.onnx", "", {}, {{"input", {1, 576}}, {"state", {2, 1, 128}}}, false,
    {{"sr", "16000"}}};

/// 16-bit mono PCM, scaled to ±1.
Result<std::vector<float>> read_wav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t data = bytes.find("data");
  if (bytes.compare(0, 4, "RIFF") != 0 || data == std::string::npos) return invalid_argument(path + ": no WAV file");
  std::vector<float> samples;
  for (size_t i = data + 8; i + 1 < bytes.size(); i += 2) {
    int16_t v;
    std::memcpy(&v, bytes.data() + i, 2);
    samples.push_back(float(v) / 32768);
  }
  return samples;
}

/// Input of frame f: the context and the frame.
std::vector<float> frame_of(const std::vector<float>& sound, size_t f) {
  std::vector<float> input(kContext + kFrame, 0.0f);
  for (size_t i = 0; i < input.size(); ++i) {
    const std::ptrdiff_t at = std::ptrdiff_t(f * kFrame + i) - std::ptrdiff_t(kContext);
    if (at >= 0) input[i] = sound[size_t(at)];
  }
  return input;
}

/// Probability of speech, frame by frame. `visit` sees each frame's inputs.
Result<std::vector<float>> listen(
    Session& session, const std::vector<float>& sound,
    const std::function<Status(size_t, const std::vector<float>&, const std::vector<float>&)>& visit) {
  std::vector<float> state(kState, 0.0f), speech;
  for (size_t f = 0; (f + 1) * kFrame <= sound.size(); ++f) {
    const std::vector<float> input = frame_of(sound, f);
    if (visit) LQ_RETURN_IF_ERROR(visit(f, input, state));
    LQ_RETURN_IF_ERROR(run_floats(session, {input, state}));
    speech.push_back(output_floats(session, 0)[0]);
    state = output_floats(session, 1);
  }
  return speech;
}

TEST(TextAndSpeechTasks, SpeechIsHeardInTheSameFrames) {
  if (!is_present(kVad)) GTEST_SKIP() << kVad.model << " is absent: 1 task skipped";
  const ScratchFolder scratch("task_vad");
  const auto sound = read_wav(resolve("pack/audio/jfk.wav").string());
  ASSERT_TRUE(sound.ok()) << sound.status().message();
  auto ir = import_case(kVad);
  ASSERT_TRUE(ir.ok()) << ir.status().message();
  SessionOptions options;
  options.input_shapes = kVad.shapes;
  auto session = Session::create(Model::create(std::move(*ir)).value(), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  // Every third frame of the first half, with the state the float model has there.
  const size_t half = sound->size() / kFrame / 2;
  const auto in_float = listen(
      **session, *sound, [&](size_t f, const std::vector<float>& input, const std::vector<float>& state) -> Status {
        if (f >= half || f % 3 != 0) return {};
        const std::string name = std::to_string(1000 + f);
        LQ_RETURN_IF_ERROR(write_sample(scratch / "calib", "input", name, {1, 576}, input));
        return write_sample(scratch / "calib", "state", name, {2, 1, 128}, state);
      });
  ASSERT_TRUE(in_float.ok()) << in_float.status().message();
  auto models = quantize_for_task(kVad, (scratch / "calib").string(), 0);
  ASSERT_TRUE(models.ok()) << models.status().message();
  const auto in_int8 = listen(*models->in_int8, *sound, nullptr);
  ASSERT_TRUE(in_int8.ok()) << in_int8.status().message();
  size_t of_float = 0, of_int8 = 0, apart = 0;
  for (size_t f = 0; f < in_float->size(); ++f) {
    const bool a = (*in_float)[f] > 0.5f, b = (*in_int8)[f] > 0.5f;
    of_float += a, of_int8 += b, apart += a != b;
  }
  print_task("voice activity, jfk.wav: speech frames", text("%zu of %zu", of_float, in_float->size()),
             text("%zu, %zu decided otherwise", of_int8, apart), "≤ 2 % otherwise");
  EXPECT_EQ(of_float, 214u) << "the float model or its feeding is wrong";
  EXPECT_LE(double(apart), 0.02 * double(in_float->size()));
}

}  // namespace
}  // namespace lq::conformance
