// Image preprocessing: what the user typed -> schema::PreprocessingT (stored in the model) -> float tensors.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/host_tensor.h"
#include "calibration/image.h"

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

/// Where an image goes in a model's input.
struct ImageInput {
  int channels = 0, width = 0, height = 0;  // width, height 0: free in the model
  bool batch = true;                        // rank 4 with a leading batch axis, else rank 3
};
/// Reads channels and size from the input's shape. Error for ranks other than 3 and 4 and for channels other than 1
/// and 3.
Result<ImageInput> image_input(const std::string& input_name, const Shape& shape, schema::DataLayout layout);

/// Completes the options for one model input: layout (default: nhwc iff only the last axis can be channels), color
/// (default by channel count: gray for 1, rgb for 3), steps with width 0. Errors name the input: wrong channel or
/// mean/std count, std 0, a step that needs a size the model leaves free.
Result<schema::PreprocessingT> resolve_preprocessing(const PreprocessOptions& options, const std::string& input_name,
                                                     const Shape& shape);

/// image (as decoded) -> color -> steps -> (pixel − mean) / std in float32, single operations. The shape is the input's
/// rank with batch 1. Error when the result does not have the size the model's input fixes.
Result<HostTensor> preprocess_image(const Image& image, const schema::PreprocessingT& preprocessing,
                                    const std::string& input_name, const Shape& shape);

/// One line for people: "rgb, resize shorter:256, crop 224x224, mean 123.675,116.28,103.53, std …, nchw".
std::string describe_preprocessing(const schema::PreprocessingT& preprocessing);

}  // namespace lq::calibration
