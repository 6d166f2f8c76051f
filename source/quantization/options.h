// The options that decide a result, in one table: the text a file records, the plan's "options" and nothing else follow
// from it. A new text option of QuantizeOptions gets one row in options.cc.
#pragma once
#include <vector>

#include "libquant/quantizer.hpp"

namespace lq::quantization {

struct TextOption {
  const char* name;  // as on the command line, without dashes; '-' becomes '_' in JSON
  std::string QuantizeOptions::*value;
};
const std::vector<TextOption>& text_options();

}  // namespace lq::quantization
