// Float operators in the canonical order of docs/NUMERICS.md, "Float".
#include <cmath>
#include <limits>

#include "reference/values.h"

namespace lq::reference {
namespace {

const float* optional_input(const Execution& e, const Node& node, size_t i) {
  return node.input(i) == kNoTensor ? nullptr : e.data<float>(node.inputs[i]);
}

Result<bool> conv(Execution& e, const Node& node) {
  const auto& attrs = attrs_as<schema::ConvAttrsT>(node);
  const Tensor x = e.tensor(node.inputs[0]), w = e.tensor(node.inputs[1]);
  if (x.shape.size() > 4) return false;
  LQ_ASSIGN_OR_RETURN(const WindowGeometry geometry, conv_geometry(attrs, x.shape, w.shape));
  const Window2d g = as_2d(geometry);
  const Nchw xs = as_nchw(x.shape);
  const int64_t m = w.shape[0], cg = w.shape[1], mg = m / attrs.groups;
  Shape out{x.shape[0], m};
  out.insert(out.end(), geometry.output.begin(), geometry.output.end());
  const float *px = x.data.as<float>(), *pw = w.data.as<float>(), *bias = optional_input(e, node, 2);
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t n = 0; n < xs.n; ++n)
    for (int64_t oc = 0; oc < m; ++oc)
      for (int64_t oh = 0; oh < g.oh; ++oh)
        for (int64_t ow = 0; ow < g.ow; ++ow) {
          float acc = bias ? bias[oc] : 0.0f;
          for (int64_t block = 0; block < cg; block += 8)
            for (int64_t kh = 0; kh < g.kh; ++kh)
              for (int64_t kw = 0; kw < g.kw; ++kw) {
                const int64_t ih = oh * g.sh - g.ph + kh * g.dh, iw = ow * g.sw - g.pw + kw * g.dw;
                if (ih < 0 || ih >= xs.h || iw < 0 || iw >= xs.w) continue;
                for (int64_t c = block; c < std::min(cg, block + 8); ++c) {
                  acc = std::fmaf(px[xs.at(n, oc / mg * cg + c, ih, iw)], pw[((oc * cg + c) * g.kh + kh) * g.kw + kw], acc);
                }
              }
          *y++ = acc + 0.0f;
        }
  return true;
}

Result<bool> conv_transpose(Execution& e, const Node& node) {
  const auto& attrs = attrs_as<schema::ConvAttrsT>(node);
  const Tensor x = e.tensor(node.inputs[0]), w = e.tensor(node.inputs[1]);
  if (x.shape.size() > 4) return false;
  LQ_ASSIGN_OR_RETURN(const WindowGeometry geometry, conv_transpose_geometry(attrs, x.shape, w.shape));
  const Window2d g = as_2d(geometry);
  const Nchw xs = as_nchw(x.shape);
  const int64_t cg = x.shape[1] / attrs.groups, mg = w.shape[1], m = mg * attrs.groups;
  Shape out{x.shape[0], m};
  out.insert(out.end(), geometry.output.begin(), geometry.output.end());
  const float *px = x.data.as<float>(), *pw = w.data.as<float>(), *bias = optional_input(e, node, 2);
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t n = 0; n < xs.n; ++n)
    for (int64_t oc = 0; oc < m; ++oc)
      for (int64_t oh = 0; oh < g.oh; ++oh)
        for (int64_t ow = 0; ow < g.ow; ++ow) {
          float acc = bias ? bias[oc] : 0.0f;
          const int64_t group = oc / mg;
          for (int64_t block = 0; block < cg; block += 8)
            for (int64_t kh = 0; kh < g.kh; ++kh)
              for (int64_t kw = 0; kw < g.kw; ++kw) {
                const int64_t th = oh + g.ph - kh * g.dh, tw = ow + g.pw - kw * g.dw;
                if (th < 0 || tw < 0 || th % g.sh != 0 || tw % g.sw != 0 || th / g.sh >= xs.h || tw / g.sw >= xs.w) continue;
                for (int64_t c = block; c < std::min(cg, block + 8); ++c) {
                  const int64_t ic = group * cg + c;
                  acc = std::fmaf(px[xs.at(n, ic, th / g.sh, tw / g.sw)], pw[((ic * mg + oc % mg) * g.kh + kh) * g.kw + kw], acc);
                }
              }
          *y++ = acc + 0.0f;
        }
  return true;
}

Result<bool> gemm(Execution& e, const Node& node) {
  const auto& t = attrs_as<schema::GemmAttrsT>(node);
  const Tensor a = e.tensor(node.inputs[0]), b = e.tensor(node.inputs[1]);
  const int64_t m = t.trans_a ? a.shape[1] : a.shape[0], k = t.trans_a ? a.shape[0] : a.shape[1];
  const int64_t n = t.trans_b ? b.shape[0] : b.shape[1];
  const float *pa = a.data.as<float>(), *pb = b.data.as<float>(), *pc = optional_input(e, node, 2);
  Shape cs = pc ? e.tensor(node.inputs[2]).shape : Shape{};
  while (cs.size() < 2) cs.insert(cs.begin(), 1);
  float* y = e.make<float>(node.outputs[0], DType::Float32, {m, n});
  const bool plain = t.alpha == 1 && t.beta == 1;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float c = pc ? pc[(cs[0] == 1 ? 0 : i) * cs[1] + (cs[1] == 1 ? 0 : j)] : 0.0f;
      float acc = plain ? c : 0.0f;
      for (int64_t l = 0; l < k; ++l) {
        acc = std::fmaf(t.trans_a ? pa[l * m + i] : pa[i * k + l], t.trans_b ? pb[j * k + l] : pb[l * n + j], acc);
      }
      if (!plain) {
        acc = t.alpha * acc;
        if (pc) acc = acc + t.beta * c;
      }
      *y++ = acc + 0.0f;
    }
  return true;
}

Result<bool> average_pool(Execution& e, const Node& node) {
  const auto& attrs = attrs_as<schema::PoolAttrsT>(node);
  const Tensor x = e.tensor(node.inputs[0]);
  if (x.shape.size() > 4) return false;
  LQ_ASSIGN_OR_RETURN(const WindowGeometry geometry, pool_geometry(attrs, x.shape));
  const Window2d g = as_2d(geometry);
  const Nchw xs = as_nchw(x.shape);
  Shape out{x.shape[0], x.shape[1]};
  out.insert(out.end(), geometry.output.begin(), geometry.output.end());
  const float* px = x.data.as<float>();
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t nc = 0; nc < xs.n * xs.c; ++nc)
    for (int64_t oh = 0; oh < g.oh; ++oh)
      for (int64_t ow = 0; ow < g.ow; ++ow) {
        float p[8] = {};
        int64_t count = 0, divisor = 0;
        for (int64_t kh = 0; kh < g.kh; ++kh)
          for (int64_t kw = 0; kw < g.kw; ++kw) {
            const int64_t ih = oh * g.sh - g.ph + kh * g.dh, iw = ow * g.sw - g.pw + kw * g.dw;
            // Padding counts only as far as the declared pads reach (ceil_mode windows may hang over).
            if (attrs.count_include_pad && ih < xs.h + g.ph_end && iw < xs.w + g.pw_end) ++divisor;
            if (ih < 0 || ih >= xs.h || iw < 0 || iw >= xs.w) continue;
            p[count++ % 8] += px[(nc * xs.h + ih) * xs.w + iw];
          }
        if (!attrs.count_include_pad) divisor = count;
        *y++ = (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))) / float(divisor);
      }
  return true;
}

Result<bool> global_average_pool(Execution& e, const Node& node) {
  const Tensor x = e.tensor(node.inputs[0]);
  Shape out = x.shape;
  int64_t inner = 1;
  for (size_t a = 2; a < out.size(); ++a) inner *= out[a], out[a] = 1;
  const float* px = x.data.as<float>();
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t nc = 0; nc < x.shape[0] * x.shape[1]; ++nc) {
    float p[8] = {};
    for (int64_t i = 0; i < inner; ++i) p[i % 8] += px[nc * inner + i];
    y[nc] = (((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))) / float(inner);
  }
  return true;
}

Result<bool> max_pool(Execution& e, const Node& node) {
  const Tensor x = e.tensor(node.inputs[0]);
  if (x.shape.size() > 4 || x.dtype != DType::Float32 || node.output(1) != kNoTensor) return false;
  LQ_ASSIGN_OR_RETURN(const WindowGeometry geometry, pool_geometry(attrs_as<schema::PoolAttrsT>(node), x.shape));
  const Window2d g = as_2d(geometry);
  const Nchw xs = as_nchw(x.shape);
  Shape out{x.shape[0], x.shape[1]};
  out.insert(out.end(), geometry.output.begin(), geometry.output.end());
  const float* px = x.data.as<float>();
  float* y = e.make<float>(node.outputs[0], DType::Float32, out);
  for (int64_t nc = 0; nc < xs.n * xs.c; ++nc)
    for (int64_t oh = 0; oh < g.oh; ++oh)
      for (int64_t ow = 0; ow < g.ow; ++ow) {
        float best = -std::numeric_limits<float>::infinity();
        for (int64_t kh = 0; kh < g.kh; ++kh)
          for (int64_t kw = 0; kw < g.kw; ++kw) {
            const int64_t ih = oh * g.sh - g.ph + kh * g.dh, iw = ow * g.sw - g.pw + kw * g.dw;
            if (ih < 0 || ih >= xs.h || iw < 0 || iw >= xs.w) continue;
            best = std::max(best, px[(nc * xs.h + ih) * xs.w + iw]);
          }
        *y++ = best;
      }
  return true;
}

}  // namespace

Result<bool> apply_float_rule(Execution& e, const Node& node) {
  if (node.inputs.empty() || e.tensor(node.inputs[0]).dtype != DType::Float32) return false;
  switch (node.op) {
    case Op::Conv: return conv(e, node);
    case Op::ConvTranspose: return conv_transpose(e, node);
    case Op::Gemm: return gemm(e, node);
    case Op::AveragePool: return average_pool(e, node);
    case Op::GlobalAveragePool: return global_average_pool(e, node);
    case Op::MaxPool: return max_pool(e, node);
    default: break;
  }
  LQ_ASSIGN_OR_RETURN(const bool applied, apply_float_sum(e, node));
  if (applied) return true;
  return apply_float_elementwise(e, node);
}

}  // namespace lq::reference
