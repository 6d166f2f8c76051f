// A quantized convolution over an image with stored preprocessing, as the bytes of a .lqm file: what the tests of
// buffers, images, threads and cancelling run.
#pragma once
#include "format/model_file.h"
#include "passes/runtime_graphs.h"

namespace lq::testing {

inline constexpr float kImageScale = 0.02f, kResultScale = 0.1f;
inline constexpr int kImageZero = 3, kResultZero = -5;

inline std::unique_ptr<schema::PreprocessStepT> step(schema::PreprocessKind kind, int64_t width, int64_t height) {
  auto s = std::make_unique<schema::PreprocessStepT>();
  s->kind = kind, s->width = int(width), s->height = int(height);
  return s;
}

/// Resize the shorter side to size + 4, crop size x size, mean and std.
inline schema::InputInfoT image_info(const std::string& input, int64_t size) {
  schema::InputInfoT info;
  info.name = input;
  info.preprocessing = std::make_unique<schema::PreprocessingT>();
  info.preprocessing->mean = {123.5f, 117, 104}, info.preprocessing->std = {58.5f, 57, 57.25f};
  info.preprocessing->steps.push_back(step(schema::PreprocessKind::ResizeShorter, size + 4, 0));
  info.preprocessing->steps.push_back(step(schema::PreprocessKind::CenterCrop, size, size));
  return info;
}

/// x [N,3,size,size] -> Q/DQ (kImageScale, kImageZero) -> `layers` times Conv 3x3 to 8 channels and Q/DQ (kResultScale,
/// kResultZero) -> y [N,8,size-2*layers,size-2*layers].
inline Result<Bytes> image_model(int64_t size, int layers = 1) {
  GraphBuilder g;
  g.model.inputs.push_back(image_info("x", size));
  TensorId x = g.through_int8(g.input("x", {kUnknownDim, 3, size, size}), kImageScale, kImageZero);
  for (int64_t layer = 0, channels = 3; layer < layers; ++layer, channels = 8) {
    std::vector<int8_t> w(size_t(8 * channels * 9));
    for (size_t i = 0; i < w.size(); ++i) w[i] = int8_t(int(i * 37 % 251) - 125);
    size -= 2;
    const TensorId weights =
        g.weights("w" + std::to_string(layer), {8, channels, 3, 3}, w, std::vector<float>(8, 0.01f), 0);
    x = g.through_int8(g.node(Op::Conv, {x, weights}, {kUnknownDim, 8, size, size}), kResultScale, kResultZero);
  }
  g.graph().tensor(x).name = "y";
  g.output(x);
  return serialize_model(g.model);
}

}  // namespace lq::testing
