// Image preprocessing: what the user typed -> schema::PreprocessingT (stored in the model) -> tensors (image/preprocess.h).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/host_tensor.h"
#include "calibration/image.h"
#include "image/preprocess.h"

namespace lq::calibration {

/// Options as typed, before the model's input is known. Keys and values: see set_preprocess_option.
struct PreprocessOptions {
  std::optional<schema::Color> color;
  std::optional<schema::DataLayout> layout;
  std::vector<float> mean, std;                // empty: 0 and 1; one value or one a channel
  std::vector<schema::PreprocessStepT> steps;  // width 0: the size of the model's input
  bool ignore_exif = false;
  bool steps_are_preset = false;  // the first geometric option of the user replaces them all
};

/// One option: key without dashes, value as on the command line.
///   color rgb|bgr|gray; mean, std "A,B,C" or "A"; resize "WxH" or "shorter:N"; crop "WxH" or "N" (square);
///   letterbox "" (the model's input size) or "WxH"; layout nchw|nhwc; exif apply|ignore.
/// resize, crop and letterbox append a step, so they apply in the order given.
Status set_preprocess_option(PreprocessOptions& options, std::string_view key, std::string_view value);

/// A preset (imagenet-torch, imagenet-tf, caffe, raw) or a JSON file: an object with the keys above, in the order
/// given; mean and std may be arrays of numbers, letterbox may be true, and "steps" may hold an array of one-key
/// objects. Apply before single options.
Result<PreprocessOptions> preprocess_preset(const std::string& name_or_file);
const char* preprocess_preset_names();  // "imagenet-torch, imagenet-tf, caffe, raw"

/// Completes the options for one model input: layout (default: nhwc iff only the last axis can be channels), color
/// (default by channel count: gray for 1, rgb for 3), steps with width 0. Errors name the input: wrong channel or
/// mean/std count, std 0, a step that needs a size the model leaves free.
Result<schema::PreprocessingT> resolve_preprocessing(const PreprocessOptions& options, const std::string& input_name,
                                                     const Shape& shape);

/// image/preprocess.h applied to a decoded image, as a tensor of its own. The shape is the input's rank with batch 1.
/// Error when the result does not have the size the model's input fixes; dtype Float32 or UInt8.
Result<HostTensor> preprocess_image(const Image& image, const schema::PreprocessingT& preprocessing,
                                    const std::string& input_name, const Shape& shape, DType dtype = DType::Float32);

/// One line for people: "rgb, resize shorter:256, crop 224x224, mean 123.675,116.28,103.53, std …, nchw".
std::string describe_preprocessing(const schema::PreprocessingT& preprocessing);

}  // namespace lq::calibration
