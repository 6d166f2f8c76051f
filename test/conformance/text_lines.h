// PP-OCR's post-processing, for pages whose lines run across: probability map -> boxes, class scores -> text.
#pragma once
#include <string>
#include <vector>

#include "base/status.h"

namespace lq::conformance {

struct TextBox {
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // half open
};

/// DB's decoding (Liao et al. 2020, "Real-time Scene Text Detection with Differentiable Binarization"; PaddleOCR's
/// parameters): connected regions over 0.3 whose mean probability is over 0.6, grown by area·1.5/perimeter of the box.
/// Boxes are upright. From top to bottom.
std::vector<TextBox> find_text(const std::vector<float>& probability, int width, int height);

/// CTC: the best class of each step, repetitions and blanks (class 0) dropped. `keys`: the characters of classes 1…;
/// the last class is the space.
std::string read_text(const std::vector<float>& scores, size_t classes, const std::vector<std::string>& keys);

/// Fewest single bytes to insert, delete or replace that make `a` into `b`.
size_t edit_distance(const std::string& a, const std::string& b);

/// Lines of a UTF-8 file.
Result<std::vector<std::string>> read_lines(const std::string& path);

}  // namespace lq::conformance
