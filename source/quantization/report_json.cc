#include "quantization/report_json.h"

#include <nlohmann/json.hpp>

namespace lq::quantization {
namespace {

using nlohmann::json;

json or_null(const std::optional<double>& v) { return v ? json(*v) : json(nullptr); }

json samples_to_json(const std::vector<QuantizeReport::SkippedSample>& samples) {
  json list = json::array();
  for (const auto& s : samples) list.push_back({{"name", s.name}, {"reason", s.reason}});
  return list;
}

json node_to_json(const QuantizeReport::Node& n) {
  json j = {{"name", n.name},
            {"operator", n.op},
            {"precision", n.precision},
            {"reason", n.reason},
            {"output", n.output},
            {"float_output", n.float_output},
            {"sqnr_db", or_null(n.sqnr_db)},
            {"clipped_share", or_null(n.clipped_share)},
            {"milliseconds", or_null(n.milliseconds)},
            {"range", json::array({n.range_min, n.range_max})}};
  if (!n.weight_min.empty()) j["weight_min"] = n.weight_min, j["weight_max"] = n.weight_max;
  return j;
}

json tensor_to_json(const QuantizeReport::Tensor& t) {
  json j = {{"names", t.names},
            {"type", t.type},
            {"observed", json::array({t.observed_min, t.observed_max})},
            {"range", json::array({t.min, t.max})},
            {"scale", t.scale},
            {"zero_point", t.zero_point},
            {"qmin", t.qmin},
            {"qmax", t.qmax},
            {"clipped_share", or_null(t.clipped_share)}};
  if (!t.histogram.empty()) j["histogram"] = {{"limit", t.limit}, {"tiny", t.tiny}, {"counts", t.histogram}};
  return j;
}

json mixed_to_json(const QuantizeReport::MixedPrecision& m) {
  json layers = json::array();
  for (const auto& layer : m.layers) {
    layers.push_back({{"node", layer.node},
                      {"macs", layer.macs},
                      {"isolated_error", layer.isolated_error},
                      {"gain", layer.gain},
                      {"kept_float", layer.kept_float}});
  }
  return {{"metric", m.metric},
          {"max_drop", m.max_drop},
          {"drop_before", m.drop_before},
          {"drop_after", m.drop_after},
          {"standard_error", m.standard_error},
          {"samples", m.samples},
          {"float_mac_share", m.float_mac_share},
          {"layers", std::move(layers)}};
}

}  // namespace

json report_to_json(const QuantizeReport& r, const ReportFiles& files) {
  json j;
  j["format"] = "libquant-report";
  j["version"] = 1;
  j["model"] = files.model;
  j["output"] = files.output;
  j["options"] = r.options;
  j["bytes_before"] = files.bytes_before;
  j["bytes_after"] = files.bytes_after;
  j["samples_used"] = r.samples_used;
  j["int8_operators"] = r.int8_nodes;
  j["int16_operators"] = r.int16_nodes;
  j["float_operators"] = r.float_nodes;
  j["int8_mac_share"] = or_null(r.int8_mac_share);
  j["samples_compared"] = r.samples_compared;
  j["output_sqnr_db"] = or_null(r.output_sqnr_db);
  j["top1_agreement"] = or_null(r.top1_agreement);
  j["skipped"] = samples_to_json(r.skipped);
  j["ignored"] = samples_to_json(r.ignored);
  j["nodes"] = j["tensors"] = j["warnings"] = json::array();
  for (const auto& n : r.nodes) j["nodes"].push_back(node_to_json(n));
  for (const auto& t : r.tensors) j["tensors"].push_back(tensor_to_json(t));
  for (const auto& w : r.warnings) {
    j["warnings"].push_back({{"kind", w.kind},
                             {"subject", w.subject},
                             {"is_sample", w.is_sample},
                             {"taken", w.taken},
                             {"message", w.message},
                             {"advice", w.advice}});
  }
  j["mixed_precision"] = r.mixed_precision ? mixed_to_json(*r.mixed_precision) : json(nullptr);
  return j;
}

}  // namespace lq::quantization
