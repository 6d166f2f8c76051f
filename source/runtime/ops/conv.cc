// Conv and the part of its preparation it shares with ConvTranspose.
#include "graph/built_ops.h"
#include "kernels/registry.h"
#include "runtime/ops/conv_depthwise.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/conv_winograd.h"
#include "runtime/ops/product_quant.h"
#include "runtime/ops/scratch.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

// What a selective build leaves out here check_built has refused before.
constexpr bool kInt8Built = any_form_built<kFormInt8, Op::Conv, Op::ConvTranspose>(),
               kFloatBuilt = any_form_built<kFormFloat, Op::Conv, Op::ConvTranspose>(),
               kWinogradBuilt = any_form_built<kFormWinograd, Op::Conv>();

/// Packed weights of a byte form, behind the sums their bias needs.
Status pack_bytes(OpPrepare& p, ConvParams& c, const int8_t* source) {
  const ConvPlan& plan = c.plan;
  const size_t sums = plan.phases.size() * size_t(plan.slots), head = align_up(sums * sizeof(int32_t));
  LQ_ASSIGN_OR_RETURN(
      const void* packed, p.packs.get(p.pack_key("conv_bytes"), head + size_t(plan.weight_total), [&](void* out) {
        pack_conv_bytes(plan, c.strides, source, static_cast<int8_t*>(out) + head, static_cast<int32_t*>(out));
      }));
  c.packed = static_cast<const uint8_t*>(packed) + head;
  const int32_t* sum = static_cast<const int32_t*>(packed);
  for (size_t i = 0; i < sums; ++i)
    c.bias[i] = int32_t(uint32_t(c.bias[i]) - uint32_t(c.zero_point_x + byte_offset(plan.form)) * uint32_t(sum[i]));
  return {};
}

/// int8: constants, packed weights and kernels.
Status prepare_s8(OpPrepare& p, ConvParams& c, const KernelRow& row) {
  const Tensor &x = p.input(0), &w = p.input(1), &y = p.output(0);
  const ConvPlan& plan = c.plan;
  if (!w.is_constant()) return unsupported("int8 weights '" + w.name + "' must be a constant");
  LQ_ASSIGN_OR_RETURN(c.zero_point_x, activation_zero_point(x));
  LQ_ASSIGN_OR_RETURN(const std::vector<float> multiplier, product_multipliers(x, w, y, plan.shape.oc));
  LQ_ASSIGN_OR_RETURN(const std::vector<int32_t> bias, product_bias(p, 2, plan.shape.oc));
  LQ_ASSIGN_OR_RETURN(c.epilogue, product_epilogue(p, y));
  c.float_output = y.dtype == DType::Float32;
  c.constants.resize(size_t(plan.slots));
  c.bias.resize(plan.phases.size() * size_t(plan.slots));
  fill_slots(plan.tiles, multiplier.data(), c.constants.data());
  for (size_t i = 0; i < plan.phases.size(); ++i)
    fill_slots(plan.tiles, bias.data(), c.bias.data() + i * size_t(plan.slots));
  const int8_t* source = w.data.as<int8_t>();
  if (is_step_form(plan.form)) {
    LQ_RETURN_IF_ERROR(pack_steps(p, c));
    c.offset = reinterpret_cast<OffsetU8Fn>(find_kernel("offset_u8", p.isa)->fn);
    c.conv_steps = reinterpret_cast<ConvStepsFn>(row.fn);
    p.set(row.name, row.isa, run_conv_steps);
    return {};
  }
  if (is_byte_form(plan.form)) {
    LQ_RETURN_IF_ERROR(pack_bytes(p, c, source));
    c.conv_bytes = reinterpret_cast<ConvByteFn>(row.fn);
    c.offset = reinterpret_cast<OffsetU8Fn>(find_kernel("offset_u8", p.isa)->fn);
    p.set(row.name, row.isa, run_conv_bytes);
    return {};
  }
  std::vector<int8_t> joined;
  if (plan.joined) joined = join_weights(plan.shape, source), source = joined.data();
  LQ_ASSIGN_OR_RETURN(
      c.packed, p.packs.get(p.pack_key("conv_s16"), size_t(plan.weight_total) * sizeof(int16_t),
                            [&](void* out) { pack_conv_s16(plan, c.strides, source, static_cast<int16_t*>(out)); }));
  c.conv_s8 = reinterpret_cast<ConvS8Fn>(row.fn);
  c.widen = reinterpret_cast<WidenS8Fn>(find_kernel("widen_s8", p.isa)->fn);
  p.set(row.name, row.isa, x.dtype == DType::Int16 ? run_conv_s16_of_s16 : run_conv_s16);
  return {};
}

/// Does a run of kw · ic values a kernel row take fewer pairs than ic values a tap?
bool joining_pays(const ConvShape& s) {
  return s.groups == 1 && s.ic < kBlock && s.kw > 1 && s.dw == 1 && (s.kw * s.ic + 1) / 2 < s.kw * ((s.ic + 1) / 2);
}

/// Plans the strip of a joined layer, all taps of which it must hold, and leaves one tap a kernel row.
Status plan_joined(const StripOptions& options, ConvParams& c) {
  const ConvShape& s = c.plan.shape;
  ConvPhase& phase = c.plan.phases[0];
  LQ_RETURN_IF_ERROR(plan_strip(phase, s, options));
  for (int64_t r = 0; r < s.kh; ++r) {
    phase.taps[size_t(r)] = phase.taps[size_t(r * s.kw)];
    phase.taps[size_t(r)].index = r * s.kw * s.ic;
    if (!phase.strip.tap.empty()) phase.strip.tap[size_t(r)] = phase.strip.tap[size_t(r * s.kw)];
  }
  phase.taps.resize(size_t(s.kh));
  if (!phase.strip.tap.empty()) phase.strip.tap.resize(size_t(s.kh));
  c.strides = {0, s.kh * s.kw * s.ic, 1};
  return {};
}

Status prepare_f32(OpPrepare& p, ConvParams& c) {
  const ConvPlan& plan = c.plan;
  c.clamp = float_clamp(p.node);
  const size_t bytes = size_t(plan.weight_total) * sizeof(float);
  if (p.input(1).is_constant()) {
    const float* source = p.input(1).data.as<float>();
    LQ_ASSIGN_OR_RETURN(c.packed, p.packs.get(p.pack_key("conv_f32"), bytes, [&](void* out) {
      pack_conv_f32(plan, c.strides, source, static_cast<float*>(out));
    }));
  } else {
    c.packed_bytes = align_up(bytes);
  }
  c.constants.resize(size_t(plan.slots));
  c.bias_at_run = p.has_input(2) && !p.input(2).is_constant();
  if (c.bias_at_run) c.start_bytes = align_up(c.constants.size() * sizeof(float));
  fill_slots(plan.tiles, p.has_input(2) && !c.bias_at_run ? p.input(2).data.as<float>() : nullptr, c.constants.data());
  const KernelRow* row = find_kernel("conv_f32", p.isa);
  c.conv_f32 = reinterpret_cast<ConvF32Fn>(row->fn);
  p.set(row->name, row->isa, run_conv_f32);
  return {};
}

Status prepare_conv(OpPrepare& p) {
  LQ_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(p, false));
  LQ_ASSIGN_OR_RETURN(const bool integer, check_conv(p, shape));
  p.step.integer = integer && p.input(0).dtype == DType::Int8;
  p.step.macs = saturating_product({shape.batch, shape.oc, shape.oh, shape.ow, shape.icg, shape.kh, shape.kw});
  p.step.finishes_pieces = !integer || p.output(0).dtype == DType::Int8;
  if (is_depthwise(shape)) {
    if constexpr (any_form_built<kFormDepthwiseInt8 | kFormDepthwiseFloat, Op::Conv>())
      return prepare_depthwise(p, shape, integer);
  }
  // Winograd's bounds are those of int8 values, and its kernels write int8 or float.
  if (kWinogradBuilt && p.step.integer && p.output(0).dtype != DType::Int16) {
    LQ_ASSIGN_OR_RETURN(const bool winograd, prepare_winograd(p, shape));
    if (winograd) return {};
  }
  return prepare_conv_panels(p, shape, conv_phases(shape), false, integer);
}

constexpr OpRow kRows[] = {{Op::Conv, built<Op::Conv>(&prepare_conv)},
                           {Op::ConvTranspose, built<Op::ConvTranspose>(&prepare_conv_transpose)}};

}  // namespace

Result<bool> check_conv(const OpPrepare& p, const ConvShape& s) {
  LQ_ASSIGN_OR_RETURN(const bool integer, is_integer_product(p.input(0), p.input(1), p.output(0)));
  if (!p.has_input(2)) return integer;
  const Tensor& bias = p.input(2);
  const bool fits = bias.dtype == (integer ? DType::Int32 : DType::Float32) && element_count(bias.shape) == s.oc;
  if (!fits) {
    return invalid_argument("bias '" + bias.name + "' is " + dtype_name(bias.dtype) + " " + shape_string(bias.shape) +
                            ", expected " + (integer ? "int32" : "float32") + " of " + std::to_string(s.oc) +
                            " values");
  }
  return integer;
}

Status prepare_conv_panels(OpPrepare& p, const ConvShape& shape, std::vector<ConvPhase> phases, bool transposed,
                           bool integer) {
  ConvParams& c = p.make_params<ConvParams>();
  c.plan.shape = shape;
  c.plan.phases = std::move(phases);
  const StoredRange x =
      kInt8Built && integer && steps_fit(shape) ? stored_range(p.graph, p.node.inputs[0]) : StoredRange{};
  const KernelRow* row =
      kInt8Built && integer ? integer_product_kernel("conv", p.isa, p.input(0), p.input(1), x, &c.plan.form) : nullptr;
  if (row != nullptr) c.plan.max_width = row->panel_width;
  c.strides = conv_weight_strides(shape, transposed);
  c.plan.joined = c.plan.form == ProductForm::kS16 && !transposed && joining_pays(shape);
  const bool bytes = integer && p.input(0).dtype == DType::Int8;
  if (kStepKernelsBuilt && bytes && c.plan.form == ProductForm::kS16 && !c.plan.joined && p.input(1).is_constant()) {
    const KernelRow* steps = find_kernel("conv_steps_u8", p.isa);
    if (steps->isa != Isa::kScalar && steps->isa == row->isa && fits_byte_kernels(p.input(1))) {
      LQ_ASSIGN_OR_RETURN(const bool pay, steps_u8_pay(p, c.plan, c.strides));
      if (pay) row = steps, c.plan.form = ProductForm::kStepsU8;
    }
  }
  const int64_t element = strip_element(c.plan.form);
  if (c.plan.joined) {
    const int64_t panels = (shape.oc + c.plan.max_width - 1) / c.plan.max_width;
    LQ_RETURN_IF_ERROR(
        plan_joined({shape.ic * element, shape.ic, false, shape.batch * panels, p.threads, kPanelStripBytes}, c));
    const ConvStrip& strip = c.plan.phases[0].strip;
    c.strip_bytes = align_up(size_t((strip.height * strip.width * shape.ic + kBlock) * element));
  }
  plan_tiles(c.plan);
  if (c.plan.scatter) p.step.finishes_pieces = false;  // its results come by channels, not by blocks
  size_t results = 0;
  const bool as_stored = !bytes || (is_byte_form(c.plan.form) && byte_offset(c.plan.form) == 0);
  const bool allow_direct = integer ? as_stored : !c.plan.gather;
  c.short_output = ShortOutput::to(p.output(0), c.plan.max_width, p.isa);
  for (ConvPhase& phase : c.plan.phases) {
    if (c.plan.joined) break;
    const StripOptions options{c.plan.strip_blocks * kBlock * element,     kBlock,    allow_direct,
                               shape.batch * int64_t(c.plan.tiles.size()), p.threads, kPanelStripBytes};
    LQ_RETURN_IF_ERROR(plan_strip(phase, shape, options));
    const ConvStrip& strip = phase.strip;
    if (!strip.direct)
      c.strip_bytes = std::max(c.strip_bytes, align_up(size_t(strip.height * strip.width * options.pixel_bytes)));
    if (c.plan.scatter) results = std::max(results, align_up(size_t(strip.rows * phase.cols) * 16 * sizeof(float)));
  }
  for (const ConvPhase& phase : c.plan.phases)
    results = std::max(results, c.short_output.buffer_bytes(phase.strip.rows, phase.cols));
  c.worker_bytes = c.strip_bytes + results;
  if (kInt8Built && integer) LQ_RETURN_IF_ERROR(prepare_s8(p, c, *row));
  if (kFloatBuilt && !integer) LQ_RETURN_IF_ERROR(prepare_f32(p, c));
  p.step.scratch_bytes = scratch_total(c.packed_bytes + c.start_bytes, c.worker_bytes, p.threads);
  return {};
}

const OpRowTable kConvRows = {kRows, 2};

}  // namespace lq
