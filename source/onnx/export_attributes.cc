// Attribute tables -> ONNX attributes.
#include "onnx/graph_exporter.h"
#include "onnx/tensor_proto.h"

namespace lq {

namespace {
onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
}  // namespace

void put(onnx::NodeProto& node, const char* name, int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
void put(onnx::NodeProto& node, const char* name, float value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}
void put(onnx::NodeProto& node, const char* name, const char* value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}
void put_list(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  auto& a = attribute(node, name, onnx::AttributeProto::INTS);
  for (int64_t v : values) a.add_ints(v);
}
void put_list(onnx::NodeProto& node, const char* name, const std::vector<int>& values) {
  if (!values.empty()) put_list(node, name, std::vector<int64_t>(values.begin(), values.end()));
}

namespace {

void put_floats(onnx::NodeProto& node, const char* name, const std::vector<float>& values) {
  if (values.empty()) return;
  auto& a = attribute(node, name, onnx::AttributeProto::FLOATS);
  for (float v : values) a.add_floats(v);
}

/// pads, or the automatic rule that stands for them.
void put_pads(onnx::NodeProto& node, schema::AutoPad rule, const std::vector<int>& pads) {
  switch (rule) {
    case schema::AutoPad::NotSet:
      put_list(node, "pads", pads);
      break;
    case schema::AutoPad::SameUpper:
      put(node, "auto_pad", "SAME_UPPER");
      break;
    case schema::AutoPad::SameLower:
      put(node, "auto_pad", "SAME_LOWER");
      break;
    case schema::AutoPad::Valid:
      put(node, "auto_pad", "VALID");
      break;
  }
}

void write(const schema::ConvAttrsT& a, onnx::NodeProto& p) {
  put_list(p, "kernel_shape", a.kernel_shape);
  put_list(p, "strides", a.strides);
  put_pads(p, a.auto_pad, a.pads);
  put_list(p, "dilations", a.dilations);
  put(p, "group", int64_t(a.groups));
  put_list(p, "output_padding", a.output_padding);
  put_list(p, "output_shape", a.output_shape);
}

void write(const schema::PoolAttrsT& a, Op op, onnx::NodeProto& p) {
  put_list(p, "kernel_shape", a.kernel_shape);
  put_list(p, "strides", a.strides);
  put_pads(p, a.auto_pad, a.pads);
  put_list(p, "dilations", a.dilations);
  put(p, "ceil_mode", int64_t(a.ceil_mode));
  if (op == Op::AveragePool) put(p, "count_include_pad", int64_t(a.count_include_pad));
  if (op == Op::MaxPool) put(p, "storage_order", int64_t(a.storage_order));
}

void write(const schema::GemmAttrsT& a, onnx::NodeProto& p) {
  put(p, "alpha", a.alpha);
  put(p, "beta", a.beta);
  put(p, "transA", int64_t(a.trans_a));
  put(p, "transB", int64_t(a.trans_b));
}

void write(const schema::ActivationAttrsT& a, Op op, onnx::NodeProto& p) {
  put(p, "alpha", a.alpha);
  if (op == Op::HardSigmoid) put(p, "beta", a.beta);
  if (op == Op::Selu) put(p, "gamma", a.gamma);
}

void write(const schema::ResizeAttrsT& a, int opset, onnx::NodeProto& p) {
  static const char* const kModes[] = {"nearest", "linear", "cubic"};
  static const char* const kCoordinates[] = {"half_pixel",        "pytorch_half_pixel",   "align_corners",
                                             "asymmetric",        "tf_half_pixel_for_nn", "half_pixel_symmetric",
                                             "tf_crop_and_resize"};
  static const char* const kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  static const char* const kPolicies[] = {"stretch", "not_larger", "not_smaller"};
  put(p, "mode", kModes[int(a.mode)]);
  put(p, "coordinate_transformation_mode", kCoordinates[int(a.coordinate_mode)]);
  if (a.mode == schema::ResizeMode::Nearest) put(p, "nearest_mode", kNearest[int(a.nearest_mode)]);
  if (a.mode == schema::ResizeMode::Cubic) put(p, "cubic_coeff_a", a.cubic_coeff_a);
  put(p, "exclude_outside", int64_t(a.exclude_outside));
  put(p, "extrapolation_value", a.extrapolation_value);
  if (opset < 18) return;
  put(p, "antialias", int64_t(a.antialias));
  put(p, "keep_aspect_ratio_policy", kPolicies[int(a.aspect_policy)]);
  put_list(p, "axes", a.axes);
}

void write(const schema::RnnAttrsT& a, Op op, onnx::NodeProto& p) {
  static const char* const kDirections[] = {"forward", "reverse", "bidirectional"};
  put(p, "hidden_size", int64_t(a.hidden_size));
  put(p, "direction", kDirections[int(a.direction)]);
  put(p, "layout", int64_t(a.batch_first));
  if (a.clip > 0) put(p, "clip", a.clip);
  if (!a.activations.empty()) {
    auto& names = attribute(p, "activations", onnx::AttributeProto::STRINGS);
    for (const std::string& name : a.activations) names.add_strings(name);
  }
  put_floats(p, "activation_alpha", a.activation_alpha);
  put_floats(p, "activation_beta", a.activation_beta);
  if (op == Op::GRU) put(p, "linear_before_reset", int64_t(a.linear_before_reset));
  if (op == Op::LSTM) put(p, "input_forget", int64_t(a.input_forget));
}

void write_pad(const schema::PadAttrsT& a, onnx::NodeProto& p) {
  static const char* const kModes[] = {"constant", "reflect", "edge", "wrap"};
  put(p, "mode", kModes[int(a.mode)]);
}

void write_block(const schema::BlockAttrsT& a, Op op, onnx::NodeProto& p) {
  put(p, "blocksize", int64_t(a.block_size));
  if (op == Op::DepthToSpace) put(p, "mode", a.crd ? "CRD" : "DCR");
}

void write_arg(const schema::ArgMaxAttrsT& a, onnx::NodeProto& p) {
  put(p, "axis", int64_t(a.axis));
  put(p, "keepdims", int64_t(a.keepdims));
  put(p, "select_last_index", int64_t(a.select_last_index));
}

void write_top_k(const schema::TopKAttrsT& a, onnx::NodeProto& p) {
  put(p, "axis", int64_t(a.axis));
  put(p, "largest", int64_t(a.largest));
  put(p, "sorted", int64_t(a.sorted));
}

void write_reduce(const schema::ReduceAttrsT& a, Op op, int opset, onnx::NodeProto& p) {
  put(p, "keepdims", int64_t(a.keepdims));
  if (opset >= 18 || op == Op::ReduceSum) put(p, "noop_with_empty_axes", int64_t(a.noop_with_empty_axes));
}

void write_norm(const schema::NormAttrsT& a, Op op, onnx::NodeProto& p) {
  put(p, "epsilon", a.epsilon);
  if (op == Op::LayerNormalization) put(p, "axis", int64_t(a.axis));
}

void write_shape(const schema::ShapeAttrsT& a, onnx::NodeProto& p) {
  if (a.start != 0) put(p, "start", int64_t(a.start));
  if (a.end != schema::ShapeAttrsT().end) put(p, "end", int64_t(a.end));
}

/// Tables of one attribute; false for the others.
bool write_single(const Node& node, onnx::NodeProto& p) {
  switch (node.attrs.type) {
    case schema::Attrs::EinsumAttrs:
      put(p, "equation", attrs_as<schema::EinsumAttrsT>(node).equation.c_str());
      return true;
    case schema::Attrs::CastAttrs:
      put(p, "to", int64_t(dtype_to_onnx(attrs_as<schema::CastAttrsT>(node).to)));
      return true;
    case schema::Attrs::AxisAttrs:
      put(p, "axis", int64_t(attrs_as<schema::AxisAttrsT>(node).axis));
      return true;
    case schema::Attrs::ReshapeAttrs:
      put(p, "allowzero", int64_t(attrs_as<schema::ReshapeAttrsT>(node).allow_zero));
      return true;
    case schema::Attrs::TransposeAttrs:
      put_list(p, "perm", attrs_as<schema::TransposeAttrsT>(node).perm);
      return true;
    case schema::Attrs::ModAttrs:
      put(p, "fmod", int64_t(attrs_as<schema::ModAttrsT>(node).fmod));
      return true;
    default:
      return node.attrs.type == schema::Attrs::NONE;
  }
}

}  // namespace

Status write_attributes(const Node& node, int opset, onnx::NodeProto& p) {
  if (write_single(node, p)) return {};
  switch (node.attrs.type) {
    case schema::Attrs::ConvAttrs:
      write(attrs_as<schema::ConvAttrsT>(node), p);
      return {};
    case schema::Attrs::PoolAttrs:
      write(attrs_as<schema::PoolAttrsT>(node), node.op, p);
      return {};
    case schema::Attrs::GemmAttrs:
      write(attrs_as<schema::GemmAttrsT>(node), p);
      return {};
    case schema::Attrs::NormAttrs:
      write_norm(attrs_as<schema::NormAttrsT>(node), node.op, p);
      return {};
    case schema::Attrs::ActivationAttrs:
      write(attrs_as<schema::ActivationAttrsT>(node), node.op, p);
      return {};
    case schema::Attrs::ReduceAttrs:
      write_reduce(attrs_as<schema::ReduceAttrsT>(node), node.op, opset, p);
      return {};
    case schema::Attrs::ArgMaxAttrs:
      write_arg(attrs_as<schema::ArgMaxAttrsT>(node), p);
      return {};
    case schema::Attrs::TopKAttrs:
      write_top_k(attrs_as<schema::TopKAttrsT>(node), p);
      return {};
    case schema::Attrs::PadAttrs:
      write_pad(attrs_as<schema::PadAttrsT>(node), p);
      return {};
    case schema::Attrs::ResizeAttrs:
      write(attrs_as<schema::ResizeAttrsT>(node), opset, p);
      return {};
    case schema::Attrs::BlockAttrs:
      write_block(attrs_as<schema::BlockAttrsT>(node), node.op, p);
      return {};
    case schema::Attrs::ShapeAttrs:
      write_shape(attrs_as<schema::ShapeAttrsT>(node), p);
      return {};
    case schema::Attrs::RnnAttrs:
      write(attrs_as<schema::RnnAttrsT>(node), node.op, p);
      return {};
    default:
      return unsupported("its attributes have no ONNX form");
  }
}

}  // namespace lq
