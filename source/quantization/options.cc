#include "quantization/options.h"

#include <cstdio>

namespace lq {
namespace quantization {

const std::vector<TextOption>& text_options() {
  static const std::vector<TextOption> kOptions = {
      {"method", &QuantizeOptions::method},
      {"activation", &QuantizeOptions::activation},
      {"target", &QuantizeOptions::target},
      {"weights", &QuantizeOptions::weights},
      {"weight-scale", &QuantizeOptions::weight_scale},
      {"rounding", &QuantizeOptions::rounding},
      {"bias-correction", &QuantizeOptions::bias_correction},
      {"balance", &QuantizeOptions::balance},
      {"float-share", &QuantizeOptions::float_share},
  };
  return kOptions;
}

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace
}  // namespace quantization

std::string describe_options(const QuantizeOptions& o) {
  if (o.float_only) return "float";
  std::string text;
  for (const quantization::TextOption& option : quantization::text_options())
    text += (text.empty() ? "" : " ") + std::string(option.name) + "=" + o.*option.value;
  if (o.max_samples != 0) text += " max-samples=" + std::to_string(o.max_samples);
  for (const std::string& s : o.skip) text += " skip=" + s;
  for (const PrecisionRule& rule : o.precision) text += " precision=" + rule.pattern + "=" + rule.precision;
  if (o.max_drop) text += " max-drop=" + quantization::number(*o.max_drop);
  return text;
}

}  // namespace lq
