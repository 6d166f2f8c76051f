// The report for machines (docs/REPORT.md) and, made from it, the page for people.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "libquant/quantizer.hpp"

namespace lq::quantization {

/// What the report itself does not know: the files.
struct ReportFiles {
  std::string model, output;
  size_t bytes_before = 0, bytes_after = 0;
};

nlohmann::json report_to_json(const QuantizeReport& report, const ReportFiles& files);

/// One HTML file that needs no other and no network. `report`: what report_to_json gave.
std::string report_page(const nlohmann::json& report);

}  // namespace lq::quantization
