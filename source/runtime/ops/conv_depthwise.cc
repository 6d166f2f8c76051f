#include "runtime/ops/conv_depthwise.h"

#include <algorithm>
#include <cstring>

#include "graph/built_ops.h"
#include "kernels/registry.h"
#include "runtime/ops/conv_pack.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/product_quant.h"
#include "runtime/ops/scratch.h"

namespace lq {
namespace {

struct DepthwiseParams {
  ConvShape shape;
  ConvPhase phase;
  const void* packed = nullptr;  // nullptr (float only): packed at every run
  std::vector<float> constants;  // int8: multiplier; float: start; 8 a block
  std::vector<int32_t> bias;     // int8
  bool bias_at_run = false, float_output = true;
  ShortOutput short_output;
  int32_t zero_point_x = 0;
  Epilogue epilogue{};
  FloatClamp clamp{};
  DepthwiseS8Fn depthwise_s8 = nullptr;
  DepthwiseF32Fn depthwise_f32 = nullptr;
  WidenS8Fn widen = nullptr;
  InterleaveS16Fn interleave = nullptr;
  int64_t pair_shift = 0;      // int8: strip pixels between the two taps of a pair
  std::vector<ptrdiff_t> tap;  // int8: offset of each pair
  size_t packed_bytes = 0, start_bytes = 0, line_bytes = 0, pair_bytes = 0, worker_bytes = 0;
};

int64_t pairs_per_row(const ConvShape& s) { return (s.kw + 1) / 2; }

/// [block][kh][pair][8][2]
void pack_s8(const ConvShape& s, const int8_t* w, int16_t* out) {
  for (int64_t b = 0; b < s.in_blocks(); ++b) {
    for (int64_t kh = 0; kh < s.kh; ++kh) {
      for (int64_t kw = 0; kw < pairs_per_row(s) * 2; kw += 2) {
        for (int64_t i = 0; i < kBlock; ++i) {
          const int64_t c = b * kBlock + i;
          for (int64_t j = 0; j < 2; ++j)
            *out++ = c < s.ic && kw + j < s.kw ? w[(c * s.kh + kh) * s.kw + kw + j] : int16_t(0);
        }
      }
    }
  }
}

/// [block][tap][8]
void pack_f32(const ConvShape& s, const float* w, float* out) {
  const int64_t taps = s.kh * s.kw;
  for (int64_t b = 0; b < s.in_blocks(); ++b) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t i = 0; i < kBlock; ++i) *out++ = b * kBlock + i < s.ic ? w[(b * kBlock + i) * taps + t] : 0.0f;
    }
  }
}

/// One work item: a strip of one block of one image.
struct Item {
  int64_t plane, block, row, rows;
};
Item item_at(const DepthwiseParams& d, int64_t index) {
  const ConvStrip& strip = d.phase.strip;
  const int64_t plane = index / strip.count, row = index % strip.count * strip.rows;
  return {plane, plane % d.shape.in_blocks(), row, std::min(strip.rows, d.phase.rows - row)};
}
int64_t item_count(const DepthwiseParams& d) { return d.shape.batch * d.shape.in_blocks() * d.phase.strip.count; }
int64_t item_grain(const DepthwiseParams& d) {
  return grain_for(d.phase.strip.rows * d.phase.cols * kBlock * int64_t(d.phase.taps.size()));
}

template <typename T>
PanelGeometry geometry_of(const DepthwiseParams& d, const Item& item, T* y) {
  const ConvShape& s = d.shape;
  PanelGeometry g{};
  g.width = kBlock;
  g.lanes = int32_t(std::min<int64_t>(kBlock, s.oc - item.block * kBlock));
  g.rows = int32_t(item.rows);
  g.cols = int32_t(s.ow);
  g.y = y + (item.plane * s.oh + item.row) * s.ow * kBlock;
  g.y_row = s.ow * kBlock;
  g.y_col = kBlock;
  g.y_blocked = true;
  return g;
}

/// The strip's rows as int16, each pixel paired with the one `pair_shift` to its right. `line` holds one row of single
/// pixels.
template <typename Source, typename Convert>
void fill_pairs(const DepthwiseParams& d, const Item& item, const Source* x, const Convert& convert, int16_t* line,
                int16_t* pairs) {
  const ConvStrip& strip = d.phase.strip;
  const StripRows rows = strip_rows(d.shape, d.phase, item.row);
  const StripColumns cols = strip_columns(d.shape, strip);
  const int64_t row = strip.width * 2 * kBlock;
  std::memset(pairs, 0, size_t(rows.begin * row) * sizeof(int16_t));
  std::memset(pairs + rows.end * row, 0, size_t((strip.height - rows.end) * row) * sizeof(int16_t));
  // Padding columns stay 0; so do the pixels behind the row, which its last ones are paired with (by weights 0).
  std::memset(line, 0, size_t(cols.begin * kBlock) * sizeof(int16_t));
  std::memset(line + cols.end * kBlock, 0, size_t((strip.width + d.pair_shift - cols.end) * kBlock) * sizeof(int16_t));
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const Source* in = x + ((rows.src + (r - rows.begin) * strip.src_row_step) * d.shape.iw + cols.src) * kBlock;
    if (cols.end > cols.begin)
      convert(in, ptrdiff_t(strip.src_col_step * kBlock), line + cols.begin * kBlock, cols.end - cols.begin);
    d.interleave({line, ptrdiff_t(d.pair_shift * kBlock), pairs + r * row, strip.width});
  }
}

/// An item whose x and w are set, into y of the output's type.
void run_item(const DepthwiseParams& d, const Item& item, DepthwiseS8Args& args, const Step& step,
              const RunContext& context, float* results) {
  const PanelGeometry set = args.geometry;
  const auto place = [&](PanelGeometry g) {
    g.x_row = set.x_row, g.x_col = set.x_col, g.tap = set.tap, g.taps = set.taps;
    return g;
  };
  if (d.short_output) {
    const PanelGeometry whole = place(geometry_of(d, item, context.output<int16_t>(step, 0)));
    const int16_t* x = args.x;
    return d.short_output.run_blocked(whole, results, [&](const PanelGeometry& rows, int64_t first) {
      args.geometry = rows;
      args.x = x + first * whole.x_row;
      d.depthwise_s8(args);
    });
  }
  args.geometry = place(d.float_output ? geometry_of(d, item, context.output<float>(step, 0))
                                       : geometry_of(d, item, context.output<int8_t>(step, 0)));
  d.depthwise_s8(args);
}

/// x: int8, or int16 as it is.
template <typename Source, typename Convert>
Status run_integer(const Step& step, const RunContext& context, const Convert& convert) {
  const DepthwiseParams& d = step.params_as<DepthwiseParams>();
  const ConvShape& s = d.shape;
  const ConvStrip& strip = d.phase.strip;
  const Source* x = context.input<Source>(step, 0);
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    uint8_t* own = context.scratch + size_t(worker) * d.worker_bytes;
    int16_t *line = reinterpret_cast<int16_t*>(own), *pairs = reinterpret_cast<int16_t*>(own + d.line_bytes);
    float* results = reinterpret_cast<float*>(own + d.line_bytes + d.pair_bytes);
    for (int64_t i = begin; i < end; ++i) {
      const Item item = item_at(d, i);
      fill_pairs(d, item, x + item.plane * s.ih * s.iw * kBlock, convert, line, pairs);
      DepthwiseS8Args args{{}, pairs, nullptr, d.epilogue};
      args.geometry.x_row = strip.row_step * strip.width * 2 * kBlock;
      args.geometry.x_col = strip.col_step * 2 * kBlock;
      args.geometry.tap = d.tap.data();
      args.geometry.taps = int32_t(d.tap.size());
      args.w = static_cast<const int16_t*>(d.packed) + item.block * int64_t(d.tap.size()) * 2 * kBlock;
      args.epilogue.bias = d.bias.data() + item.block * kBlock;
      args.epilogue.multiplier = d.constants.data() + item.block * kBlock;
      run_item(d, item, args, step, context, results);
      finish_piece(step, context, (item.plane * s.oh + item.row) * s.ow * kBlock, item.rows * s.ow * kBlock);
    }
  };
  context.pool->parallel_for(item_count(d), item_grain(d), work);
  return {};
}

Status run_depthwise_s8(const Step& step, const RunContext& context) {
  const DepthwiseParams& d = step.params_as<DepthwiseParams>();
  return run_integer<int8_t>(step, context, WidenPixels{d.zero_point_x, d.widen});
}
Status run_depthwise_s16(const Step& step, const RunContext& context) {
  return run_integer<int16_t>(step, context, CopyPixels{});
}

Status run_depthwise_f32(const Step& step, const RunContext& context) {
  const DepthwiseParams& d = step.params_as<DepthwiseParams>();
  const ConvShape& s = d.shape;
  const ConvStrip& strip = d.phase.strip;
  const float* x = context.input<float>(step, 0);
  const float *weights = static_cast<const float*>(d.packed), *start = d.constants.data();
  if (weights == nullptr) {
    float* packed = reinterpret_cast<float*>(context.scratch);
    pack_f32(s, context.input<float>(step, 1), packed);
    weights = packed;
  }
  if (d.bias_at_run) {
    float* values = reinterpret_cast<float*>(context.scratch + d.packed_bytes);
    for (int64_t c = 0; c < s.out_blocks() * kBlock; ++c)
      values[c] = c < s.oc ? context.input<float>(step, 2)[c] : 0.0f;
    start = values;
  }
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    float* own =
        reinterpret_cast<float*>(context.scratch + d.packed_bytes + d.start_bytes + size_t(worker) * d.worker_bytes);
    for (int64_t i = begin; i < end; ++i) {
      const Item item = item_at(d, i);
      const float* plane = x + item.plane * s.ih * s.iw * kBlock;
      DepthwiseF32Args args{geometry_of(d, item, context.output<float>(step, 0)), nullptr, nullptr,
                            start + item.block * kBlock, d.clamp};
      if (strip.direct) {
        args.x = plane + ((item.row * d.phase.row_mult + strip.first_row) * s.iw + strip.first_col) * kBlock;
      } else {
        fill_strip_f32(s, d.phase, 0, kBlock, plane, item.row, own);
        args.x = own;
      }
      args.geometry.x_row = strip.row_step * strip.width * kBlock;
      args.geometry.x_col = strip.col_step * kBlock;
      args.geometry.tap = strip.tap.data();
      args.geometry.taps = int32_t(strip.tap.size());
      args.w = weights + item.block * int64_t(strip.tap.size()) * kBlock;
      d.depthwise_f32(args);
      finish_piece(step, context, (item.plane * s.oh + item.row) * s.ow * kBlock, item.rows * s.ow * kBlock);
    }
  };
  context.pool->parallel_for(item_count(d), item_grain(d), work);
  return {};
}

Status prepare_s8(OpPrepare& p, DepthwiseParams& d) {
  const ConvShape& s = d.shape;
  const Tensor &x = p.input(0), &w = p.input(1), &y = p.output(0);
  LQ_ASSIGN_OR_RETURN(d.zero_point_x, activation_zero_point(x));
  LQ_ASSIGN_OR_RETURN(d.constants, product_multipliers(x, w, y, s.oc));
  LQ_ASSIGN_OR_RETURN(d.bias, product_bias(p, 2, s.oc));
  LQ_ASSIGN_OR_RETURN(d.epilogue, product_epilogue(p, y));
  if (!w.is_constant()) return unsupported("int8 weights '" + w.name + "' must be a constant");
  d.constants.resize(size_t(s.out_blocks() * kBlock), 0.0f);
  d.bias.resize(size_t(s.out_blocks() * kBlock), 0);
  d.float_output = y.dtype == DType::Float32;
  d.pair_shift = s.kw > 1 ? s.dw : 0;
  const ConvStrip& strip = d.phase.strip;
  for (int64_t kh = 0; kh < s.kh; ++kh) {
    for (int64_t kw = 0; kw < s.kw; kw += 2) d.tap.push_back((kh * s.dh * strip.width + kw * s.dw) * 2 * kBlock);
  }
  d.line_bytes = align_up(size_t(strip.width + d.pair_shift) * kBlock * sizeof(int16_t));
  d.pair_bytes = align_up(size_t(strip.height * strip.width) * 2 * kBlock * sizeof(int16_t));
  d.short_output = ShortOutput::to(y, kBlock, p.isa);
  d.worker_bytes = d.line_bytes + d.pair_bytes + d.short_output.buffer_bytes(strip.rows, s.ow);
  const size_t bytes = size_t(s.in_blocks() * s.kh * pairs_per_row(s)) * 2 * kBlock * sizeof(int16_t);
  const int8_t* source = w.data.as<int8_t>();
  LQ_ASSIGN_OR_RETURN(d.packed, p.packs.get(p.pack_key("depthwise_s8"), bytes,
                                            [&](void* out) { pack_s8(s, source, static_cast<int16_t*>(out)); }));
  const KernelRow* row = find_kernel("depthwise_s8", p.isa);
  d.depthwise_s8 = reinterpret_cast<DepthwiseS8Fn>(row->fn);
  d.widen = reinterpret_cast<WidenS8Fn>(find_kernel("widen_s8", p.isa)->fn);
  d.interleave = reinterpret_cast<InterleaveS16Fn>(find_kernel("interleave_s16", p.isa)->fn);
  p.set(row->name, row->isa, x.dtype == DType::Int16 ? run_depthwise_s16 : run_depthwise_s8);
  return {};
}

Status prepare_f32(OpPrepare& p, DepthwiseParams& d) {
  const ConvShape& s = d.shape;
  d.clamp = float_clamp(p.node);
  const size_t bytes = size_t(s.in_blocks() * s.kh * s.kw) * kBlock * sizeof(float);
  if (p.input(1).is_constant()) {
    const float* source = p.input(1).data.as<float>();
    LQ_ASSIGN_OR_RETURN(d.packed, p.packs.get(p.pack_key("depthwise_f32"), bytes,
                                              [&](void* out) { pack_f32(s, source, static_cast<float*>(out)); }));
  } else {
    d.packed_bytes = align_up(bytes);
  }
  d.constants.assign(size_t(s.out_blocks() * kBlock), 0.0f);
  d.bias_at_run = p.has_input(2) && !p.input(2).is_constant();
  if (d.bias_at_run) d.start_bytes = align_up(d.constants.size() * sizeof(float));
  if (p.has_input(2) && !d.bias_at_run) std::copy_n(p.input(2).data.as<float>(), s.oc, d.constants.begin());
  const ConvStrip& strip = d.phase.strip;
  d.worker_bytes = strip.direct ? 0 : align_up(size_t(strip.height * strip.width * kBlock) * sizeof(float));
  const KernelRow* row = find_kernel("depthwise_f32", p.isa);
  d.depthwise_f32 = reinterpret_cast<DepthwiseF32Fn>(row->fn);
  p.set(row->name, row->isa, run_depthwise_f32);
  return {};
}

/// The kernel of an integer layer that reads bytes: on dot products of four rows, or on pairs of taps; nullptr: none
/// fits. Rows are laid side by side anew for every output row, which small maps pay for most: with 7-bit activations
/// pairs of taps are faster than AVX-VNNI, and than AVX512-VNNI below 20 columns.
const KernelRow* byte_kernel(const OpPrepare& p, const ConvShape& s) {
  const KernelRow *s8 = find_kernel("depthwise_s8x4", p.isa), *u8 = find_kernel("depthwise_u8", p.isa),
                  *taps = find_kernel("depthwise_taps_u8", p.isa);
  const bool dots = depthwise_bytes_fit(s) && fits_byte_kernels(p.input(1));
  const bool pairs = kStepKernelsBuilt && taps->isa != Isa::kScalar && s.kh * s.kw <= kMaxDepthwiseTaps;
  const StoredRange x = stored_range(p.graph, p.node.inputs[0]);
  constexpr int64_t kFewColumns = 20;
  if (pairs && x.low >= 0 && x.high <= kLargestStepByte && (u8->isa != Isa::kAvx512Vnni || s.ow < kFewColumns))
    return taps;
  if (dots && s8->isa != Isa::kScalar) return s8;
  if (dots && u8->isa != Isa::kScalar) return u8;
  return pairs ? taps : nullptr;
}

}  // namespace

Status prepare_depthwise(OpPrepare& p, const ConvShape& shape, bool integer) {
  constexpr bool kInt8Built = any_form_built<kFormDepthwiseInt8, Op::Conv>(),
                 kFloatBuilt = any_form_built<kFormDepthwiseFloat, Op::Conv>();
  const bool bytes = integer && p.input(0).dtype == DType::Int8 && p.output(0).dtype != DType::Int16;
  if (const KernelRow* row = kInt8Built && bytes ? byte_kernel(p, shape) : nullptr) {
    const std::string family = row->family;
    if (kStepKernelsBuilt && family == "depthwise_taps_u8") return prepare_depthwise_taps(p, shape, *row);
    return prepare_depthwise_bytes(p, shape, *row, family == "depthwise_u8" ? 128 : 0);
  }
  DepthwiseParams& d = p.make_params<DepthwiseParams>();
  d.shape = shape;
  d.phase = std::move(conv_phases(shape)[0]);
  const int64_t pixel_bytes = 32;  // 8 pairs of int16, or 8 floats
  LQ_RETURN_IF_ERROR(
      plan_strip(d.phase, shape,
                 {pixel_bytes, kBlock, !integer, shape.batch * shape.in_blocks(), p.threads, kDepthwiseStripBytes}));
  if (kInt8Built && integer) LQ_RETURN_IF_ERROR(prepare_s8(p, d));
  if (kFloatBuilt && !integer) LQ_RETURN_IF_ERROR(prepare_f32(p, d));
  p.step.scratch_bytes = scratch_total(d.packed_bytes + d.start_bytes, d.worker_bytes, p.threads);
  return {};
}

}  // namespace lq
