#include "quantization/plan_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "quantization/options.h"

namespace lq::quantization {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "libquant-plan";
constexpr int kVersion = 1;
constexpr int kLargestExponent = 24;  // of a channel's factor, as a power of two

/// Reads members of one JSON object; the first mistake is kept, and names the object and the key.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("is not an object");
  }

  const json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    return found == object_.end() ? nullptr : &*found;
  }
  void text(const std::string& key, std::string& value) {
    if (const json* j = find(key)) j->is_string() ? void(value = j->get<std::string>()) : fail(key, "is not a string");
  }
  void boolean(const char* key, bool& value) {
    if (const json* j = find(key)) j->is_boolean() ? void(value = j->get<bool>()) : fail(key, "is not true or false");
  }
  std::optional<double> number(const char* key) {
    const json* j = find(key);
    if (j == nullptr) return std::nullopt;
    if (j->is_number() && std::abs(j->get<double>()) < 1e30) return j->get<double>();
    fail(key, "is not a finite number");
    return std::nullopt;
  }
  std::optional<int> integer(const char* key, int low, int high) {
    const json* j = find(key);
    if (j == nullptr) return std::nullopt;
    if (j->is_number_integer() && *j >= low && *j <= high) return j->get<int>();
    fail(key, "is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return std::nullopt;
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> values;
    const json* j = find(key);
    if (j == nullptr) return values;
    if (!j->is_array()) fail(key, "is not a list of strings");
    for (const json& item : *j) {
      if (item.is_string())
        values.push_back(item.get<std::string>());
      else
        fail(key, "is not a list of strings");
    }
    return values;
  }
  void fail(const std::string& key, const std::string& what) { fail("'" + key + "' " + what); }
  void fail(const std::string& what) {
    if (status_.ok()) status_ = invalid_argument(where_ + ": " + what);
  }
  /// A key nobody asked for is a typing error, which would otherwise have no effect in silence.
  Status finish() {
    if (object_.is_object()) {
      for (const auto& [key, value] : object_.items()) {
        if (std::find(known_.begin(), known_.end(), key) == known_.end()) fail("unknown key '" + key + "'");
      }
    }
    return status_;
  }

 private:
  const json& object_;
  std::string where_;
  std::vector<std::string> known_;
  Status status_;
};

std::string json_key(const TextOption& option) {
  std::string key = option.name;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

json options_to_json(const QuantizeOptions& o) {
  json j = json::object();
  for (const TextOption& option : text_options()) j[json_key(option)] = o.*option.value;
  if (o.max_samples > 0) j["max_samples"] = o.max_samples;
  if (!o.skip.empty()) j["skip"] = o.skip;
  for (const PrecisionRule& rule : o.precision) j["precision"].push_back(rule.pattern + "=" + rule.precision);
  if (o.max_drop) j["max_drop"] = *o.max_drop;
  return j;
}

Status read_options(const json& j, QuantizeOptions& o) {
  Reader r(j, "options");
  for (const TextOption& option : text_options()) r.text(json_key(option).c_str(), o.*option.value);
  o.max_samples = size_t(r.integer("max_samples", 1, INT32_MAX).value_or(0));
  o.max_drop = r.number("max_drop");
  o.skip = r.texts("skip");
  o.precision.clear();
  for (const std::string& text : r.texts("precision")) {
    LQ_ASSIGN_OR_RETURN(PrecisionRule rule, parse_precision_rule(text));
    o.precision.push_back(std::move(rule));
  }
  return r.finish();
}

Status read_node(const json& j, const std::string& where, PlanFile& plan) {
  Reader r(j, where);
  PlannedNode node;
  std::string output, op;
  r.text("output", output);
  r.text("name", node.name);
  r.text("operator", op);  // for the reader of the file
  r.text("precision", node.precision);
  r.text("reason", node.reason);
  r.boolean("pinned", node.pinned);
  r.boolean("int8_parameters", node.int8_parameters);
  if (output.empty()) r.fail("'output', the name of the operator's first result, is missing");
  if (node.precision != "int8" && node.precision != "int16" && node.precision != "float")
    r.fail("precision", "is not int8, int16 or float");
  LQ_RETURN_IF_ERROR(r.finish());
  if (!plan.nodes.emplace(output, node).second) return invalid_argument(where + ": '" + output + "' is listed twice");
  return {};
}

std::optional<ValueRange> range_of(Reader& r, const char* low_key, const char* high_key) {
  const std::optional<double> low = r.number(low_key), high = r.number(high_key);
  if (low.has_value() != high.has_value()) r.fail(low ? high_key : low_key, "is missing");
  if (!low || !high) return std::nullopt;
  if (*low > *high) r.fail(low_key, "is above " + std::string(high_key));
  return ValueRange{float(*low), float(*high)};
}

std::optional<QuantParams> params_of(Reader& r, DType dtype) {
  const std::optional<double> scale = r.number("scale");
  const bool wide = dtype == DType::Int16;
  const std::optional<int> zero_point = wide ? r.integer("zero_point", 0, 0) : r.integer("zero_point", -128, 127),
                           qmin = r.integer("qmin", wide ? -32768 : -128, 0),
                           qmax = r.integer("qmax", 1, wide ? 32767 : 127);
  if (!scale && !zero_point && !qmin && !qmax) return std::nullopt;
  if (!scale || !zero_point) {
    r.fail("give scale and zero_point together");
    return std::nullopt;
  }
  if (!is_valid_scale(float(*scale))) r.fail("scale", "is not a positive normal number");
  QuantParams params = per_tensor_params(dtype, float(*scale), *zero_point);
  params.qmin = qmin.value_or(params.qmin), params.qmax = qmax.value_or(params.qmax);
  if (*zero_point < params.qmin || *zero_point > params.qmax) r.fail("zero_point", "is outside qmin…qmax");
  return params;
}

Status read_tensor(const json& j, const std::string& where, PlanFile& plan) {
  Reader r(j, where);
  PlannedRange range;
  const std::vector<std::string> names = r.texts("names");
  range.range = range_of(r, "min", "max");
  range.observed = range_of(r, "observed_min", "observed_max");
  std::string type = "int8";
  r.text("type", type);
  if (type != "int8" && type != "int16") r.fail("type", "is not int8 or int16");
  const DType dtype = type == "int16" ? DType::Int16 : DType::Int8;
  range.params = params_of(r, dtype);
  if (names.empty()) r.fail("'names' is missing");
  if (!range.range && !range.params) r.fail("give min and max, or scale and zero_point");
  LQ_RETURN_IF_ERROR(r.finish());
  for (const std::string& name : names) {
    if (!plan.tensors.emplace(std::make_pair(name, dtype), range).second)
      return invalid_argument(where + ": '" + name + "' is listed twice");
  }
  return {};
}

Status read_channels(const json& j, const std::string& where, PlanFile& plan) {
  Reader r(j, where);
  ChannelFactors factors;
  r.text("tensor", factors.tensor);
  const json* list = r.find("exponents");
  if (factors.tensor.empty()) r.fail("'tensor' is missing");
  if (list == nullptr || !list->is_array()) r.fail("exponents", "is not a list of whole numbers");
  LQ_RETURN_IF_ERROR(r.finish());
  for (const json& item : *list) {
    if (!item.is_number_integer() || item < -kLargestExponent || item > kLargestExponent)
      return invalid_argument(where + ": 'exponents' are whole numbers from " + std::to_string(-kLargestExponent) +
                              " to " + std::to_string(kLargestExponent));
    factors.exponents.push_back(item.get<int>());
  }
  plan.channels.push_back(std::move(factors));
  return {};
}

Status read_list(const json* list, const std::string& what, PlanFile& plan,
                 Status (*read)(const json&, const std::string&, PlanFile&)) {
  if (list == nullptr) return {};
  if (!list->is_array()) return invalid_argument("'" + what + "' is not a list");
  size_t i = 0;
  for (const json& item : *list) LQ_RETURN_IF_ERROR(read(item, what + "[" + std::to_string(i++) + "]", plan));
  return {};
}

Result<PlanFile> parse_plan(const Bytes& bytes, QuantizeOptions& options) {
  const json j = json::parse(bytes.data(), bytes.data() + bytes.size(), nullptr, false);
  if (j.is_discarded()) return invalid_argument("is no JSON");
  Reader r(j, "the plan");
  std::string format;
  r.text("format", format);
  if (format != kFormat) return invalid_argument("is no plan: \"format\" is not \"" + std::string(kFormat) + "\"");
  const std::optional<int> version = r.integer("version", 1, INT32_MAX);
  if (version != kVersion)
    return invalid_argument("has plan version " + std::to_string(version.value_or(0)) + ", this build reads version " +
                            std::to_string(kVersion));
  PlanFile plan;
  if (const json* o = r.find("options")) LQ_RETURN_IF_ERROR(read_options(*o, options));
  LQ_RETURN_IF_ERROR(read_list(r.find("channels"), "channels", plan, read_channels));
  LQ_RETURN_IF_ERROR(read_list(r.find("nodes"), "nodes", plan, read_node));
  LQ_RETURN_IF_ERROR(read_list(r.find("tensors"), "tensors", plan, read_tensor));
  LQ_RETURN_IF_ERROR(r.finish());
  return plan;
}

std::string first_output(const Graph& graph, const Node& node) {
  return node.output(0) == kNoTensor ? "" : graph.tensor(node.outputs[0]).name;
}

GroupRange planned(const PlannedRange& range, DType dtype, const RangeOptions& options) {
  GroupRange result;
  if (range.range) {
    result.threshold = *range.range;
  } else {
    const QuantParams& p = *range.params;
    const float scale = scale_at(p, 0);
    result.threshold = {float(p.qmin - zero_point_at(p, 0)) * scale, float(p.qmax - zero_point_at(p, 0)) * scale};
  }
  result.observed = range.observed.value_or(result.threshold);
  result.given = range.params.has_value();
  result.params = result.given ? *range.params : params_of(dtype, result.observed, result.threshold, options);
  return result;
}

bool same_params(const QuantParams& a, const QuantParams& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.qmin == b.qmin && a.qmax == b.qmax;
}

nlohmann::ordered_json tensor_to_json(const Graph& graph, const ParamGroup& group, const GroupRange& range,
                                      const RangeOptions& options) {
  nlohmann::ordered_json j;
  for (TensorId id : group.members) j["names"].push_back(graph.tensor(id).name);
  j["min"] = range.threshold.min, j["max"] = range.threshold.max;
  j["observed_min"] = range.observed.min, j["observed_max"] = range.observed.max;
  if (group.dtype == DType::Int16) {
    j["type"] = "int16";
    if (!range.given) return j;  // follows from min, max and the weights that read it
  }
  if (same_params(params_of(group.dtype, range.observed, range.threshold, options), range.params)) return j;
  j["scale"] = scale_at(range.params, 0), j["zero_point"] = zero_point_at(range.params, 0);
  j["qmin"] = range.params.qmin, j["qmax"] = range.params.qmax;
  return j;
}

}  // namespace

Result<PlanFile> read_plan(const std::string& path, QuantizeOptions& options) {
  LQ_ASSIGN_OR_RETURN(const Bytes bytes, map_file(path));
  Result<PlanFile> plan = parse_plan(bytes, options);
  if (!plan.ok()) return plan.status().with_context(path);
  return plan;
}

Status apply_plan(const Graph& graph, const PlanFile& plan, NodeRequests& requests) {
  std::map<std::string, size_t> node_of;
  for (size_t n = 0; n < graph.nodes.size(); ++n) node_of.emplace(first_output(graph, graph.nodes[n]), n);
  for (const auto& [output, entry] : plan.nodes) {
    const auto found = node_of.find(output);
    if (found == node_of.end())
      return invalid_argument("the plan lists operator '" + entry.name + "' with result '" + output +
                              "', which this model does not have");
    NodeRequest& request = requests[found->second];
    const Node& node = graph.nodes[found->second];
    if (entry.int8_parameters && !stores_int8(graph, node))
      return invalid_argument("the plan asks int8 parameters of " + node_label(graph, node) +
                              ", which has none to store");
    if (entry.precision == "float" && entry.int8_parameters) continue;  // what the rules decide by themselves
    if (entry.precision == "float") {
      request = {Wish::kFloat, entry.reason.empty() ? "asked for (--plan)" : entry.reason};
      continue;
    }
    const bool wide = entry.precision == "int16";
    const std::string reason = wide ? why_not_int16(graph, node) : why_not_int8(graph, node);
    if (!reason.empty())
      return invalid_argument("the plan asks " + entry.precision + " of " + node_label(graph, node) +
                              ", which cannot: " + reason);
    request = {wide ? Wish::kInt16 : entry.pinned ? Wish::kInt8 : Wish::kNone, ""};
  }
  for (const auto& [key, range] : plan.tensors) {
    const std::string& name = key.first;
    const bool known = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                   [&](const Tensor& t) { return t.name == name && t.dtype == DType::Float32; });
    if (!known) return invalid_argument("the plan lists tensor '" + name + "', which this model does not have");
  }
  return {};
}

size_t apply_plan_ranges(const Graph& graph, const ParamGroups& groups, const PlanFile& plan,
                         const RangeOptions& options, std::vector<GroupRange>& ranges) {
  size_t unknown = 0;
  for (size_t g = 0; g < ranges.size(); ++g) {
    const ParamGroup& group = groups.groups()[g];
    // The tensor whose values decide comes first: an edited precision may have split a group of the plan.
    std::vector<TensorId> members = group.members;
    members.insert(members.begin(), group.calibrated);
    auto found = plan.tensors.end();
    for (size_t m = 0; m < members.size() && found == plan.tensors.end(); ++m)
      found = plan.tensors.find({graph.tensor(members[m]).name, group.dtype});
    if (found == plan.tensors.end()) {
      ++unknown;
      continue;
    }
    ranges[g] = planned(found->second, group.dtype, options);
  }
  return unknown;
}

std::string write_plan(const QuantizeOptions& options, const Graph& graph, const PrecisionPlan& plan,
                       const std::vector<ChannelFactors>& channels, const ParamGroups& groups,
                       const std::vector<GroupRange>& ranges, const RangeOptions& range_options) {
  nlohmann::ordered_json j;
  j["format"] = kFormat;
  j["version"] = kVersion;
  j["options"] = options_to_json(options);
  for (const ChannelFactors& f : channels) j["channels"].push_back({{"tensor", f.tensor}, {"exponents", f.exponents}});
  j["nodes"] = nlohmann::ordered_json::array();
  j["tensors"] = nlohmann::ordered_json::array();
  for (size_t n = 0; n < plan.size(); ++n) {
    if (plan[n].precision == Precision::kNotFloat) continue;
    nlohmann::ordered_json node = {{"output", first_output(graph, graph.nodes[n])},
                                   {"name", graph.nodes[n].name},
                                   {"operator", op_name(graph.nodes[n].op)},
                                   {"precision", precision_name(plan[n].precision)}};
    if (!plan[n].reason.empty()) node["reason"] = plan[n].reason;
    if (plan[n].pinned) node["pinned"] = true;
    if (plan[n].int8_parameters) node["int8_parameters"] = true;
    j["nodes"].push_back(std::move(node));
  }
  for (size_t g = 0; g < ranges.size(); ++g)
    j["tensors"].push_back(tensor_to_json(graph, groups.groups()[g], ranges[g], range_options));
  return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lq::quantization
