#include "runtime/ops/conv_plan.h"

#include <algorithm>

#include "runtime/ops/scratch.h"

namespace lq {
namespace {

constexpr int64_t kMaxStripBytes = int64_t(256) << 20;
constexpr int64_t kPiecesPerThread = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// One axis of a strip: extent for `outputs` outputs with taps from `lo` to `hi`.
struct AxisSpan {
  int64_t step, src_step;
  explicit AxisSpan(int64_t lo, int64_t hi, int64_t mult) : step(lo == hi ? 1 : mult), src_step(lo == hi ? mult : 1) {}
  static int64_t extent(int64_t outputs, int64_t step, int64_t lo, int64_t hi) {
    return (outputs - 1) * step + (hi - lo) + 1;
  }
};

void add_tile(ConvPlan& plan, int64_t channel, int64_t lanes, int64_t in_begin, int64_t in_count) {
  ConvTile t;
  t.channel = int32_t(channel);
  t.lanes = int32_t(lanes);
  const int64_t unit = lanes > kBlock ? 2 * kBlock : panel_unit(plan.form);
  t.width = int32_t(ceil_div(lanes, unit) * unit);
  t.group = int32_t(channel / plan.shape.ocg);
  t.in_begin = int32_t(in_begin);
  t.blocks = int32_t(in_count / kBlock);
  t.tail = int32_t(in_count % kBlock);
  t.panel = plan.panel_total;
  t.slot = plan.slots;
  t.steps = t.blocks + (t.tail > 0 ? 1 : 0);
  const int64_t together = channels_together(plan.form);
  const int64_t channels = int64_t(t.blocks) * kBlock + ceil_div(t.tail, together) * together;
  plan.panel_total += channels * t.width;
  plan.slots += t.width;
  plan.tiles.push_back(t);
}

}  // namespace

Result<ConvShape> conv_shape(const OpPrepare& p, bool transposed) {
  const Tensor &x = p.input(0), &w = p.input(1), &y = p.output(0);
  const auto& attrs = attrs_as<schema::ConvAttrsT>(p.node);
  const size_t rank = x.shape.size();
  if ((rank != 3 && rank != 4) || w.shape.size() != rank || y.shape.size() != rank) {
    return unsupported("input " + shape_string(x.shape) + ": only 1-D and 2-D convolutions can run");
  }
  if (x.blocked_axis != 1 || y.blocked_axis != 1 || w.blocked_axis != -1) {
    return internal_error("a convolution reads and writes NCHWc8 tensors; run assign_layout first");
  }
  LQ_ASSIGN_OR_RETURN(const WindowGeometry g, transposed ? conv_transpose_geometry(attrs, x.shape, w.shape)
                                                         : conv_geometry(attrs, x.shape, w.shape));
  const bool flat = rank == 3;
  ConvShape s;
  s.batch = x.shape[0], s.ic = x.shape[1], s.ih = x.shape[2], s.iw = flat ? 1 : x.shape[3];
  s.oc = y.shape[1], s.oh = g.output[0], s.ow = flat ? 1 : g.output[1];
  s.groups = attrs.groups;
  s.kh = g.kernel[0], s.sh = g.strides[0], s.dh = g.dilations[0], s.pad_h = g.pads_begin[0];
  s.kw = flat ? 1 : g.kernel[1], s.sw = flat ? 1 : g.strides[1], s.dw = flat ? 1 : g.dilations[1],
  s.pad_w = flat ? 0 : g.pads_begin[1];
  if (s.groups < 1 || s.ic < 1 || s.oc < 1 || s.ic % s.groups != 0 || s.oc % s.groups != 0) {
    return invalid_argument(std::to_string(s.groups) + " groups do not divide " + std::to_string(s.ic) + " input and " +
                            std::to_string(s.oc) + " output channels");
  }
  s.icg = s.ic / s.groups, s.ocg = s.oc / s.groups;
  const Shape expected = transposed ? Shape{s.ic, s.ocg, s.kh, s.kw} : Shape{s.oc, s.icg, s.kh, s.kw};
  if (w.shape[0] != expected[0] || w.shape[1] != expected[1] || y.shape[2] != s.oh || (!flat && y.shape[3] != s.ow)) {
    return invalid_argument("weights " + shape_string(w.shape) + " do not fit input " + shape_string(x.shape) +
                            " and output " + shape_string(y.shape));
  }
  // What follows makes vectors a tap, a tile and a phase: bounded before a hostile file makes them huge.
  constexpr int64_t kMaxChannels = 1 << 20, kMaxTaps = 1 << 16, kMaxExtent = 1 << 30;
  const bool small = std::max(s.ic, s.oc) <= kMaxChannels && std::max(s.kh, s.kw) <= kMaxTaps &&
                     s.kh * s.kw <= kMaxTaps && std::max(std::max(s.ih, s.iw), std::max(s.oh, s.ow)) <= kMaxExtent &&
                     (s.ic + kBlock) * (s.oc + 2 * kBlock) <= kMaxScratchElements / (s.kh * s.kw);
  if (!small) {
    return unsupported("input " + shape_string(x.shape) + " with weights " + shape_string(w.shape) +
                       " is too large to run");
  }
  return s;
}

std::vector<ConvPhase> conv_phases(const ConvShape& s) {
  ConvPhase phase{s.oh, s.ow, 0, 0, 1, 1, s.sh, s.sw, {}, 0, {}};
  for (int64_t kh = 0; kh < s.kh; ++kh) {
    for (int64_t kw = 0; kw < s.kw; ++kw)
      phase.taps.push_back({kh * s.kw + kw, kh * s.dh - s.pad_h, kw * s.dw - s.pad_w});
  }
  return {std::move(phase)};
}

void plan_tiles(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  if (plan.integer()) {
    // Order is free: panels run over whole blocks of the tensor, weights of channels outside the group are 0.
    plan.strip_blocks = s.in_blocks();
    // Groups of whole blocks are cut one by one into panels as even as possible, others run on across their borders.
    const bool apart = s.groups == 1 || s.ocg % 16 == 0;
    const int64_t stretch = apart ? s.ocg : s.oc;
    const int64_t widest = apart ? plan.max_width : panel_unit(plan.form);
    for (int64_t c = 0; c < s.oc;) {
      const int64_t left = stretch - c % stretch, panels = ceil_div(left, widest), unit = std::min<int64_t>(16, widest);
      const int64_t lanes = std::min(left, ceil_div(ceil_div(left, unit), panels) * unit);
      const int64_t channels = plan.group_channels();
      const int64_t first = c / s.ocg * channels, end = ((c + lanes - 1) / s.ocg + 1) * channels,
                    begin = first / kBlock * kBlock;
      add_tile(plan, c, lanes, begin, end - begin);
      c += lanes;
    }
  } else {
    // Canonical order counts blocks from the group's first channel, and 0 · x is not nothing if x is inf: groups stay
    // apart.
    plan.strip_blocks = ceil_div(s.icg, kBlock);
    plan.gather = s.groups > 1 && s.icg % kBlock != 0;
    plan.scatter = s.groups > 1 && s.ocg % kBlock != 0;
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t c = 0; c < s.ocg; c += 16) add_tile(plan, g * s.ocg + c, std::min<int64_t>(16, s.ocg - c), 0, s.icg);
    }
  }
  for (ConvPhase& phase : plan.phases) {
    phase.weights = plan.weight_total;
    plan.weight_total += int64_t(phase.taps.size()) * plan.panel_total;
  }
}

Status plan_strip(ConvPhase& phase, const ConvShape& s, const StripOptions& options) {
  ConvStrip& strip = phase.strip;
  if (phase.rows <= 0 || phase.cols <= 0) return {};
  int64_t row_lo = 0, row_hi = 0, col_lo = 0, col_hi = 0;
  for (size_t i = 0; i < phase.taps.size(); ++i) {
    const ConvTap& t = phase.taps[i];
    row_lo = i == 0 ? t.dy : std::min(row_lo, t.dy), row_hi = i == 0 ? t.dy : std::max(row_hi, t.dy);
    col_lo = i == 0 ? t.dx : std::min(col_lo, t.dx), col_hi = i == 0 ? t.dx : std::max(col_hi, t.dx);
  }
  strip.first_row = row_lo, strip.first_col = col_lo;
  const bool inside = row_lo >= 0 && col_lo >= 0 && (phase.rows - 1) * phase.row_mult + row_hi < s.ih &&
                      (phase.cols - 1) * phase.col_mult + col_hi < s.iw;
  strip.direct = phase.taps.empty() || (options.allow_direct && inside);
  const AxisSpan row(row_lo, row_hi, phase.row_mult), col(col_lo, col_hi, phase.col_mult);
  strip.row_step = strip.direct ? phase.row_mult : row.step;
  strip.col_step = strip.direct ? phase.col_mult : col.step;
  strip.src_row_step = row.src_step, strip.src_col_step = col.src_step;
  strip.width = strip.direct ? s.iw : AxisSpan::extent(phase.cols, col.step, col_lo, col_hi);
  const int64_t first_height = AxisSpan::extent(1, strip.row_step, row_lo, row_hi);
  constexpr int64_t kMaxExtent = int64_t(1) << 30;
  if (!strip.direct &&
      (strip.width > kMaxExtent || first_height > kMaxExtent ||
       double(strip.width) * double(first_height) * double(options.pixel_bytes) > double(kMaxStripBytes))) {
    return unsupported("one output row spans " + std::to_string(first_height) + " x " + std::to_string(strip.width) +
                       " input pixels with padding; pads or dilations this large cannot run");
  }
  const int64_t row_bytes = std::max<int64_t>(1, strip.width * options.pixel_bytes);
  const int64_t fit =
      (options.budget_bytes / row_bytes - (row_hi - row_lo) - 1) / strip.row_step + 1;  // rows whose input fits
  const int64_t wanted =
      ceil_div(kPiecesPerThread * options.threads, std::max<int64_t>(1, options.pieces_per_row_strip));
  const int64_t rows = options.threads > 1 ? std::min(fit, ceil_div(phase.rows, wanted)) : fit;
  strip.rows = std::clamp<int64_t>(rows, 1, phase.rows);
  strip.count = ceil_div(phase.rows, strip.rows);
  strip.height = AxisSpan::extent(strip.rows, strip.row_step, row_lo, row_hi);
  for (const ConvTap& t : phase.taps) {
    strip.tap.push_back(((t.dy - row_lo) * strip.width + (t.dx - col_lo)) * options.pixel_elements);
  }
  return {};
}

WeightStrides conv_weight_strides(const ConvShape& s, bool transposed) {
  const int64_t taps = s.kh * s.kw;
  if (transposed) return {s.icg * s.ocg * taps, taps, s.ocg * taps};  // [C, M/g, kh, kw]
  return {s.ocg * s.icg * taps, s.icg * taps, taps};                  // [M, C/g, kh, kw]
}

}  // namespace lq
