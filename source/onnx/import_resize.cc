// Resize in its five spellings, Upsample, and the block shuffles.
#include "onnx/node_import.h"

namespace lq {
namespace {

Result<schema::ResizeMode> resize_mode(const std::string& v) {
  if (v == "nearest") return schema::ResizeMode::Nearest;
  if (v == "linear" || v == "bilinear") return schema::ResizeMode::Linear;
  if (v == "cubic") return schema::ResizeMode::Cubic;
  return corrupt("mode is '" + v + "'");
}

Result<schema::CoordinateMode> coordinate_mode(const std::string& v) {
  using enum schema::CoordinateMode;
  const std::pair<const char*, schema::CoordinateMode> kModes[] = {{"half_pixel", HalfPixel},
                                                                   {"pytorch_half_pixel", PytorchHalfPixel},
                                                                   {"align_corners", AlignCorners},
                                                                   {"asymmetric", Asymmetric},
                                                                   {"tf_half_pixel_for_nn", TfHalfPixelForNn},
                                                                   {"half_pixel_symmetric", HalfPixelSymmetric},
                                                                   {"tf_crop_and_resize", TfCropAndResize}};
  for (const auto& [name, mode] : kModes) {
    if (v == name) return mode;
  }
  return corrupt("coordinate_transformation_mode is '" + v + "'");
}

Result<schema::NearestMode> nearest_mode(const std::string& v) {
  if (v == "round_prefer_floor") return schema::NearestMode::RoundPreferFloor;
  if (v == "round_prefer_ceil") return schema::NearestMode::RoundPreferCeil;
  if (v == "floor") return schema::NearestMode::Floor;
  if (v == "ceil") return schema::NearestMode::Ceil;
  return corrupt("nearest_mode is '" + v + "'");
}

Result<schema::AspectPolicy> aspect_policy(const std::string& v) {
  if (v == "stretch") return schema::AspectPolicy::Stretch;
  if (v == "not_larger") return schema::AspectPolicy::NotLarger;
  if (v == "not_smaller") return schema::AspectPolicy::NotSmaller;
  return corrupt("keep_aspect_ratio_policy is '" + v + "'");
}

/// Upsample and Resize of opset 10: coordinates are x / scale. Their specifications leave nearest open; rounding down
/// when enlarging and up when shrinking is what ONNX's own test vectors of opset 10 and ONNX Runtime do.
Status convert_resize_scales_only(NodeImport& node) {
  schema::ResizeAttrsT attrs;
  LQ_ASSIGN_OR_RETURN(attrs.mode, resize_mode(node.attr_string("mode", "nearest")));
  attrs.coordinate_mode = schema::CoordinateMode::Asymmetric;
  attrs.nearest_mode = schema::NearestMode::Floor;
  TensorId scales = kNoTensor;
  if (node.inputs().size() > 1) {
    scales = node.input(1);
  } else {
    const std::vector<float> values = node.attr_floats("scales");
    scales = node.constant(DType::Float32, {int64_t(values.size())}, values.data(), "scales");
  }
  if (scales == kNoTensor || (node.inputs().size() < 2 && !node.has_attr("scales")))
    return corrupt("scales are missing");
  if (const auto values = constant_floats(node.graph(), scales)) {
    bool enlarges = false, shrinks = false;
    for (float s : *values) {
      enlarges |= s > 1;
      shrinks |= s < 1;
    }
    if (shrinks && enlarges && attrs.mode == schema::ResizeMode::Nearest) {
      return unsupported("nearest mode that shrinks one axis and enlarges another is not supported before opset 11");
    }
    if (shrinks) attrs.nearest_mode = schema::NearestMode::Ceil;
  }
  node.emit(Op::Resize, {node.input(0), scales}).attrs.Set(std::move(attrs));
  return {};
}

/// A 0-element constant stands for an absent optional input (how opset 11 exporters write it).
TensorId drop_empty(NodeImport& node, size_t i) {
  if (!node.has_input(i)) return kNoTensor;
  const Tensor& t = node.input_tensor(i);
  return t.is_constant() && element_count(t.shape) == 0 ? kNoTensor : node.input(i);
}

Status convert_resize(NodeImport& node) {
  schema::ResizeAttrsT attrs;
  LQ_ASSIGN_OR_RETURN(attrs.mode, resize_mode(node.attr_string("mode", "nearest")));
  LQ_ASSIGN_OR_RETURN(attrs.coordinate_mode,
                      coordinate_mode(node.attr_string("coordinate_transformation_mode", "half_pixel")));
  LQ_ASSIGN_OR_RETURN(attrs.nearest_mode, nearest_mode(node.attr_string("nearest_mode", "round_prefer_floor")));
  LQ_ASSIGN_OR_RETURN(attrs.aspect_policy, aspect_policy(node.attr_string("keep_aspect_ratio_policy", "stretch")));
  attrs.cubic_coeff_a = node.attr_float("cubic_coeff_a", -0.75f);
  attrs.exclude_outside = node.attr_bool("exclude_outside", false);
  attrs.extrapolation_value = node.attr_float("extrapolation_value", 0.0f);
  attrs.antialias = node.attr_bool("antialias", false);
  attrs.axes = node.attr_ints("axes");
  const TensorId roi = drop_empty(node, 1), scales = drop_empty(node, 2), sizes = drop_empty(node, 3);
  if ((scales == kNoTensor) == (sizes == kNoTensor)) return corrupt("needs exactly one of scales and sizes");
  if (attrs.coordinate_mode == schema::CoordinateMode::TfCropAndResize) {
    const auto values = constant_floats(node.graph(), roi);
    if (!values) return unsupported("roi must be a constant");
    attrs.roi = *values;
  }
  node.emit(Op::Resize, {node.input(0), scales, sizes}).attrs.Set(std::move(attrs));
  return {};
}

Status convert_block(NodeImport& node) {
  schema::BlockAttrsT attrs;
  if (!node.has_attr("blocksize")) return corrupt("attribute 'blocksize' is missing");
  attrs.block_size = node.attr_int("blocksize", 1);
  if (node.row().op == Op::DepthToSpace) {
    const std::string mode = node.attr_string("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") return corrupt("mode is '" + mode + "'");
    attrs.crd = mode == "CRD";
  }
  node.emit(node.row().op, node.inputs()).attrs.Set(std::move(attrs));
  return {};
}

constexpr uint32_t kRoi = 1u << 1;
constexpr ImportRow kRows[] = {
    {"Upsample", 7, 8, Op::Resize, 1, 1, convert_resize_scales_only},
    {"Upsample", 9, 9, Op::Resize, 2, 2, convert_resize_scales_only},
    {"Resize", 10, 10, Op::Resize, 2, 2, convert_resize_scales_only},
    {"Resize", 11, kLatestOpset, Op::Resize, 1, 4, convert_resize, kRoi | 1u << 2 | 1u << 3},
    {"DepthToSpace", 1, kLatestOpset, Op::DepthToSpace, 1, 1, convert_block},
    {"SpaceToDepth", 1, kLatestOpset, Op::SpaceToDepth, 1, 1, convert_block},
};

}  // namespace

std::span<const ImportRow> resize_rows() { return kRows; }

}  // namespace lq
