// Window geometry of Conv, ConvTranspose and the pools: ONNX defaults, auto_pad, ceil_mode, output_shape.
#include "graph/op_def.h"

namespace lq {
namespace {

constexpr int64_t kMaxWindowValue = int64_t(1) << 24;  // of a stride, pad or dilation: products stay far inside int64

Status expect_length(const char* what, size_t length, size_t wanted) {
  if (length == 0 || length == wanted) return {};
  return invalid_argument(std::string(what) + " has " + std::to_string(length) + " entries, expected " +
                          std::to_string(wanted));
}

/// Copies strides, dilations and explicit pads with their defaults, after checking lengths and ranges.
template <typename AttrsT>
Result<WindowGeometry> start(const AttrsT& a, std::vector<int64_t> kernel) {
  const size_t n = kernel.size();
  LQ_RETURN_IF_ERROR(expect_length("kernel_shape", a.kernel_shape.size(), n));
  LQ_RETURN_IF_ERROR(expect_length("strides", a.strides.size(), n));
  LQ_RETURN_IF_ERROR(expect_length("dilations", a.dilations.size(), n));
  LQ_RETURN_IF_ERROR(expect_length("pads", a.pads.size(), 2 * n));
  WindowGeometry g;
  g.kernel = std::move(kernel);
  g.strides.assign(n, 1);
  g.dilations.assign(n, 1);
  g.pads_begin.assign(n, 0);
  g.pads_end.assign(n, 0);
  g.output.assign(n, kUnknownDim);
  const bool explicit_pads = a.auto_pad == schema::AutoPad::NotSet && !a.pads.empty();
  for (size_t i = 0; i < n; ++i) {
    if (!a.strides.empty()) g.strides[i] = a.strides[i];
    if (!a.dilations.empty()) g.dilations[i] = a.dilations[i];
    if (explicit_pads) {
      g.pads_begin[i] = a.pads[i];
      g.pads_end[i] = a.pads[n + i];
    }
    for (int64_t v : {g.strides[i], g.dilations[i], g.kernel[i]}) {
      if (v < 1 || v > kMaxWindowValue)
        return invalid_argument("kernel, stride or dilation " + std::to_string(v) + " is out of range");
    }
    for (int64_t v : {g.pads_begin[i], g.pads_end[i]}) {
      if (v < 0 || v > kMaxWindowValue) return invalid_argument("pad " + std::to_string(v) + " is out of range");
    }
  }
  return g;
}

/// Extent of a dilated kernel.
int64_t extent(const WindowGeometry& g, size_t i) { return (g.kernel[i] - 1) * g.dilations[i] + 1; }

bool is_same(schema::AutoPad p) { return p == schema::AutoPad::SameUpper || p == schema::AutoPad::SameLower; }

/// Splits `total` padding; SAME_UPPER puts the odd one at the end.
void split_padding(WindowGeometry& g, size_t i, int64_t total, bool more_at_end) {
  g.pads_begin[i] = more_at_end ? total / 2 : total - total / 2;
  g.pads_end[i] = total - g.pads_begin[i];
}

/// Output extent of a sliding window along axis i; `in` known.
Status slide(WindowGeometry& g, size_t i, int64_t in, schema::AutoPad auto_pad, bool ceil_mode) {
  const int64_t e = extent(g, i), s = g.strides[i];
  if (is_same(auto_pad)) {
    g.output[i] = (in + s - 1) / s;
    const int64_t total = (g.output[i] - 1) * s + e - in;
    split_padding(g, i, total > 0 && in > 0 ? total : 0, auto_pad == schema::AutoPad::SameUpper);
    return {};
  }
  const int64_t room = in + g.pads_begin[i] + g.pads_end[i] - e;
  if (room < 0) {
    return invalid_argument("kernel " + std::to_string(e) + " does not fit input " + std::to_string(in) +
                            " with pads " + std::to_string(g.pads_begin[i]) + ", " + std::to_string(g.pads_end[i]) +
                            " (axis " + std::to_string(i + 2) + ")");
  }
  g.output[i] = room / s + 1;
  if (ceil_mode && room % s != 0) {
    // ONNX: one window more, unless it would start in the right-hand padding.
    if (g.output[i] * s < in + g.pads_begin[i]) ++g.output[i];
  }
  return {};
}

Status expect_spatial(const Shape& x, size_t wanted) {
  if (x.size() < 3) return invalid_argument("input " + shape_string(x) + " has no spatial axis (expected [N,C,...])");
  if (x.size() != wanted) {
    return invalid_argument("input " + shape_string(x) + " has " + std::to_string(x.size()) +
                            " axes, the kernel needs " + std::to_string(wanted));
  }
  return {};
}

/// Kernel extents of a convolution: from the weights, or from the attribute where the weights are unknown.
Result<std::vector<int64_t>> weight_kernel(const schema::ConvAttrsT& attrs, const Shape& w) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < w.size(); ++i) {
    int64_t k = w[i];
    if (i - 2 < attrs.kernel_shape.size()) {
      const int64_t a = attrs.kernel_shape[i - 2];
      if (k >= 0 && a != k) {
        return invalid_argument("kernel_shape " + std::to_string(a) + " differs from the weights " + shape_string(w));
      }
      k = a;
    }
    kernel.push_back(k);
  }
  return kernel;
}

}  // namespace

Result<WindowGeometry> conv_geometry(const schema::ConvAttrsT& attrs, const Shape& x, const Shape& w) {
  LQ_RETURN_IF_ERROR(expect_spatial(x, w.size()));
  LQ_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, weight_kernel(attrs, w));
  LQ_ASSIGN_OR_RETURN(WindowGeometry g, start(attrs, std::move(kernel)));
  for (size_t i = 0; i < g.kernel.size(); ++i) {
    if (x[i + 2] >= 0) LQ_RETURN_IF_ERROR(slide(g, i, x[i + 2], attrs.auto_pad, false));
  }
  return g;
}

Result<WindowGeometry> conv_transpose_geometry(const schema::ConvAttrsT& attrs, const Shape& x, const Shape& w) {
  LQ_RETURN_IF_ERROR(expect_spatial(x, w.size()));
  LQ_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, weight_kernel(attrs, w));
  LQ_ASSIGN_OR_RETURN(WindowGeometry g, start(attrs, std::move(kernel)));
  const size_t n = g.kernel.size();
  LQ_RETURN_IF_ERROR(expect_length("output_padding", attrs.output_padding.size(), n));
  LQ_RETURN_IF_ERROR(expect_length("output_shape", attrs.output_shape.size(), n));
  for (size_t i = 0; i < n; ++i) {
    const int64_t extra = attrs.output_padding.empty() ? 0 : attrs.output_padding[i];
    if (extra < 0 || extra > kMaxWindowValue)
      return invalid_argument("output_padding " + std::to_string(extra) + " is out of range");
    const int64_t in = x[i + 2];
    if (in < 0) {
      if (!attrs.output_shape.empty()) g.output[i] = attrs.output_shape[i];
      continue;
    }
    const int64_t full = (in - 1) * g.strides[i] + extent(g, i) + extra;
    const bool same = is_same(attrs.auto_pad);
    if (!attrs.output_shape.empty() || same) {
      g.output[i] = attrs.output_shape.empty() ? in * g.strides[i] : attrs.output_shape[i];
      const int64_t total = full - g.output[i];
      if (total >= 0) {
        split_padding(g, i, total, attrs.auto_pad == schema::AutoPad::SameUpper);
      } else {  // a larger output than the taps reach: the rest, at the end, is the bias alone
        g.pads_begin[i] = 0;
        g.pads_end[i] = total;
      }
    } else {
      g.output[i] = full - g.pads_begin[i] - g.pads_end[i];
    }
    if (g.output[i] < 1) {
      return invalid_argument("output would have extent " + std::to_string(g.output[i]) + " on axis " +
                              std::to_string(i + 2));
    }
  }
  return g;
}

Result<WindowGeometry> pool_geometry(const schema::PoolAttrsT& attrs, const Shape& x) {
  if (attrs.kernel_shape.empty()) return invalid_argument("kernel_shape is missing");
  LQ_RETURN_IF_ERROR(expect_spatial(x, attrs.kernel_shape.size() + 2));
  std::vector<int64_t> kernel(attrs.kernel_shape.begin(), attrs.kernel_shape.end());
  LQ_ASSIGN_OR_RETURN(WindowGeometry g, start(attrs, std::move(kernel)));
  for (size_t i = 0; i < g.kernel.size(); ++i) {
    const int64_t in = x[i + 2];
    if (in < 0) continue;
    // VALID has no ceil_mode: ONNX gives it ceil((in − extent + 1) / stride), which is the floor form.
    LQ_RETURN_IF_ERROR(slide(g, i, in, attrs.auto_pad, attrs.ceil_mode && attrs.auto_pad == schema::AutoPad::NotSet));
    // With these every window holds at least one real element, so no kernel divides by zero or returns −inf.
    const bool only_padding = g.pads_begin[i] >= extent(g, i) || g.pads_end[i] >= extent(g, i);
    if (only_padding || (g.kernel[i] > 1 && g.dilations[i] > in)) {
      return invalid_argument("a window would see nothing but padding on axis " + std::to_string(i + 2) +
                              "; pads must be smaller than the kernel");
    }
  }
  return g;
}

}  // namespace lq
