#include "conformance/detectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lq::conformance {
namespace {

struct Map {
  const float* data = nullptr;
  Shape shape;
};

Map output_named(const Session& session, const std::string& name) {
  for (size_t i = 0; i < session.output_count(); ++i) {
    if (session.output(i).name == name)
      return {static_cast<const float*>(session.output_data(i)), session.output(i).shape};
  }
  ADD_FAILURE() << "no output '" << name << "'";
  return {};
}

/// Greedy: the best box goes first and drops what overlaps it by more than `threshold`, of whatever class.
std::vector<Detection> suppress(std::vector<Detection> boxes, float threshold) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<Detection> kept;
  for (const Detection& box : boxes) {
    const auto hides = [&](const Detection& k) { return iou(k, box) > threshold; };
    if (std::none_of(kept.begin(), kept.end(), hides)) kept.push_back(box);
  }
  return kept;
}

/// YuNet (libfacedetection.train; OpenCV's FaceDetectorYN decodes alike): one anchor point at (column, row)·stride;
/// score √(cls·obj), centre (point + offset)·stride, size exp(·)·stride. Threshold 0.6 as the pack's figures, NMS 0.3
/// as OpenCV.
std::vector<Detection> decode_yunet(const Session& session, float leniency) {
  constexpr int kSize = 320;
  std::vector<Detection> boxes;
  for (const int stride : {8, 16, 32}) {
    const std::string suffix = "_" + std::to_string(stride);
    const Map cls = output_named(session, "cls" + suffix), obj = output_named(session, "obj" + suffix),
              box = output_named(session, "bbox" + suffix);
    if (cls.data == nullptr || obj.data == nullptr || box.data == nullptr) return {};
    const int columns = kSize / stride;
    for (int i = 0; i < columns * columns; ++i) {
      const float score = std::sqrt(std::clamp(cls.data[i], 0.0f, 1.0f) * std::clamp(obj.data[i], 0.0f, 1.0f));
      if (score <= 0.6f - leniency) continue;
      const float* b = box.data + i * 4;
      const float x = (float(i % columns) + b[0]) * float(stride), y = (float(i / columns) + b[1]) * float(stride);
      const float w = std::exp(b[2]) * float(stride), h = std::exp(b[3]) * float(stride);
      boxes.push_back({x - w / 2, y - h / 2, x + w / 2, y + h / 2, score, 0});
    }
  }
  return suppress(std::move(boxes), 0.3f);
}

/// Ultra-Light-Fast-Generic-Face-Detector: softmax and priors are in the graph; boxes are corners relative to the
/// image. Threshold 0.7 and NMS 0.3 are those of its run_video_face_detect_onnx.py.
std::vector<Detection> decode_ultraface(const Session& session, float leniency) {
  const Map scores = output_named(session, "scores"), corners = output_named(session, "boxes");
  if (scores.data == nullptr || corners.data == nullptr) return {};
  std::vector<Detection> boxes;
  for (int64_t i = 0; i < scores.shape[1]; ++i) {
    const float score = scores.data[i * 2 + 1];
    const float* b = corners.data + i * 4;
    if (score > 0.7f - leniency) boxes.push_back({b[0] * 320, b[1] * 240, b[2] * 320, b[3] * 240, score, 0});
  }
  return suppress(std::move(boxes), 0.3f);
}

/// FastestDet's example/onnx-runtime: channels obj, 4 box, 80 class; score obj^0.6·class^0.4 over 0.65, centre
/// (cell + tanh)/cells, size sigmoid(·) of the image, NMS 0.45 over all classes together.
std::vector<Detection> decode_fastestdet(const Session& session, float leniency) {
  constexpr float kSize = 352;
  const Map map = output_named(session, "758");
  if (map.data == nullptr) return {};
  const int64_t classes = map.shape[1] - 5, rows = map.shape[2], columns = map.shape[3], cells = rows * columns;
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  std::vector<Detection> boxes;
  for (int64_t i = 0; i < cells; ++i) {
    const auto at = [&](int64_t channel) { return map.data[channel * cells + i]; };
    int best = 0;
    for (int c = 1; c < classes; ++c) {
      if (at(5 + c) > at(5 + best)) best = c;
    }
    const float score = std::pow(at(0), 0.6f) * std::pow(at(5 + best), 0.4f);
    if (!(score > 0.65f - leniency)) continue;
    const float x = (float(i % columns) + std::tanh(at(1))) / float(columns) * kSize;
    const float y = (float(i / columns) + std::tanh(at(2))) / float(rows) * kSize;
    const float w = sigmoid(at(3)) * kSize, h = sigmoid(at(4)) * kSize;
    boxes.push_back({x - w / 2, y - h / 2, x + w / 2, y + h / 2, score, best});
  }
  return suppress(std::move(boxes), 0.45f);
}

}  // namespace

float iou(const Detection& a, const Detection& b) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1), h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const float both = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1);
  return w * h / (both - w * h);
}

std::vector<Detection> decode(const std::string& detector, const Session& session, float leniency) {
  if (detector == "yunet") return decode_yunet(session, leniency);
  if (detector == "ultraface") return decode_ultraface(session, leniency);
  if (detector == "fastestdet") return decode_fastestdet(session, leniency);
  ADD_FAILURE() << "no decoding of '" << detector << "'";
  return {};
}

}  // namespace lq::conformance
