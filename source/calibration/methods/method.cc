#include "calibration/methods/method.h"

#include <algorithm>
#include <charconv>

namespace lq::calibration {
namespace {

constexpr MethodRow kMethods[] = {
    {"kl", kl_threshold},
    {"minmax", minmax_threshold},
    {"percentile", percentile_threshold, true, 99.99, 50, 100},
    {"mse", mse_threshold},
    {"ema", ema_threshold, true, 0.9, 0, 1},
    {"admm", admm_threshold},
    {"auto", kl_threshold},  // quantization/activation_ranges.h chooses among several; alone it is kl
};

}  // namespace

const MethodRow* find_method(const std::string& name) {
  for (const MethodRow& row : kMethods) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

Result<MethodChoice> parse_method(const std::string& text) {
  const size_t colon = text.find(':');
  const MethodRow* row = find_method(text.substr(0, colon));
  if (row == nullptr) {
    std::string names;
    for (const MethodRow& r : kMethods) names += (names.empty() ? "" : ", ") + std::string(r.name);
    return invalid_argument("--method: unknown method '" + text + "'; known: " + names);
  }
  MethodChoice choice{row, row->parameter};
  if (colon == std::string::npos) return choice;
  if (!row->has_parameter) return invalid_argument("--method: '" + std::string(row->name) + "' takes no number");
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, choice.parameter);
  if (error != std::errc() || stop != end ||
      !(choice.parameter >= row->parameter_min && choice.parameter <= row->parameter_max)) {
    return invalid_argument("--method: '" + text + "': the number must be from " +
                            std::to_string(int(row->parameter_min)) + " to " + std::to_string(int(row->parameter_max)));
  }
  return choice;
}

ValueRange compute_threshold(const MethodChoice& method, const Histogram& histogram, int levels,
                             const std::vector<ValueRange>* samples) {
  const ValueRange range{std::min(histogram.range().min, 0.0f), std::max(histogram.range().max, 0.0f)};
  if (histogram.total() == 0) return range;
  return method.row->threshold({histogram, range, levels, method.parameter, samples});
}

ValueRange clip_range(ValueRange range, double threshold) {
  return {std::max(range.min, float(-threshold)), std::min(range.max, float(threshold))};
}

}  // namespace lq::calibration
