// A model's stored preprocessing applied to pixels: image -> color -> steps -> (pixel − mean) / std.
#pragma once
#include <string>

#include "graph/graph.h"
#include "image/pixels.h"

namespace lq {

/// Where an image goes in a model's input.
struct ImageInput {
  int channels = 0, width = 0, height = 0;  // width, height 0: free in the model
  bool batch = true;                        // rank 4 with a leading batch axis, else rank 3
};
/// Reads channels and size from the input's shape. Error for ranks other than 3 and 4 and for channels other than 1
/// and 3.
Result<ImageInput> image_input(const std::string& input_name, const Shape& shape, schema::DataLayout layout);

/// Color and steps. Error when the result does not have the size the input's shape fixes.
Result<PixelBuffer> preprocess_pixels(const PixelView& view, const schema::PreprocessingT& preprocessing,
                                      const std::string& input_name, const Shape& shape,
                                      const Allocator& allocator = default_allocator());

/// Writes one image of a batch, in the layout of `preprocessing`: width * height * channels elements. Float32: (pixel −
/// mean) / std, two IEEE operations. UInt8: the same value, an error where it is no whole number of 0…255. Other types
/// are an error.
Status pixels_to_tensor(const PixelBuffer& image, const schema::PreprocessingT& preprocessing,
                        const std::string& input_name, DType dtype, void* out);

}  // namespace lq
