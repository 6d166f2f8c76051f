// Depthwise on saturating byte products (SSE4.1, and AVX2 without VNNI): a strip of bytes a block, taps in proved groups.
#include <algorithm>

#include "kernels/registry.h"
#include "runtime/ops/conv_depthwise.h"
#include "runtime/ops/conv_pack.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/depthwise_split.h"
#include "runtime/ops/product_quant.h"
#include "runtime/ops/scratch.h"

namespace lq {
namespace {

/// The packed form of one block of 8 channels; all blocks of a layer have the same size, room for `taps` pairs and
/// groups.
struct PackedBlock {
  int16_t* counts;  // pairs, groups
  int16_t* taps;    // TapSplit
  int16_t* group;
  int16_t* start;
  int8_t* w;  // [pairs][8][2]
  PackedBlock(void* packed, int64_t block, int64_t taps_count) {
    counts = static_cast<int16_t*>(packed) + block * bytes(taps_count) / 2;
    taps = counts + 2;
    group = taps + 2 * taps_count;
    start = group + taps_count;
    w = reinterpret_cast<int8_t*>(start + kBlock * taps_count);
  }
  static int64_t bytes(int64_t taps) { return (2 + 3 * taps + kBlock * taps) * 2 + 2 * kBlock * taps; }
};

struct DepthwiseTapsParams {
  ConvShape shape;
  ConvPhase phase;
  const void* packed = nullptr;
  std::vector<float> multiplier;
  std::vector<int32_t> bias;
  std::vector<int32_t> at;  // [block][taps][2]
  bool float_output = true;
  int32_t zero_point_x = 0;
  ProductForm form = ProductForm::kU8;  // kSteps: x is q, in 0…127; kU8: x is q + 128
  Epilogue epilogue{};
  DepthwiseTapsFn kernel = nullptr;
  OffsetU8Fn offset = nullptr;
  size_t worker_bytes = 0;
  int64_t taps() const { return shape.kh * shape.kw; }
};

/// weights of one block, [taps][8].
void gather(const ConvShape& s, const int8_t* w, int64_t block, int8_t* out) {
  const int64_t taps = s.kh * s.kw;
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t i = 0; i < kBlock; ++i) {
      const int64_t c = block * kBlock + i;
      *out++ = c < s.ic ? w[c * taps + t] : int8_t(0);
    }
  }
}

void pack_block(const ConvShape& s, const int8_t* w, int64_t block, int32_t largest, void* out) {
  const int64_t taps = s.kh * s.kw;
  std::vector<int8_t> weights(size_t(taps * kBlock));
  gather(s, w, block, weights.data());
  const TapSplit split = split_taps(weights.data(), int(taps), largest);
  const PackedBlock to(out, block, taps);
  to.counts[0] = int16_t(split.taps.size() / 2), to.counts[1] = int16_t(split.group.size());
  std::copy(split.taps.begin(), split.taps.end(), to.taps);
  std::copy(split.group.begin(), split.group.end(), to.group);
  std::copy(split.start.begin(), split.start.end(), to.start);
  for (size_t p = 0; p < split.taps.size(); ++p) {
    const int16_t tap = split.taps[p];
    for (int64_t i = 0; i < kBlock; ++i)
      to.w[(p / 2 * kBlock + size_t(i)) * 2 + p % 2] = tap < 0 ? int8_t(0) : weights[size_t(tap * kBlock + i)];
  }
}

Status run_depthwise_taps(const Step& step, const RunContext& context) {
  const DepthwiseTapsParams& d = step.params_as<DepthwiseTapsParams>();
  const ConvShape& s = d.shape;
  const ConvStrip& strip = d.phase.strip;
  const int8_t* x = context.input<int8_t>(step, 0);
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    uint8_t* bytes = context.scratch + size_t(worker) * d.worker_bytes;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / strip.count, block = plane % s.in_blocks(), row = i % strip.count * strip.rows;
      fill_strip_bytes(s, d.phase, 1, x + plane * s.ih * s.iw * kBlock, row, d.zero_point_x, d.form, d.offset, bytes);
      const PackedBlock packed(const_cast<void*>(d.packed), block, d.taps());
      DepthwiseTapsArgs args{};
      PanelGeometry& g = args.geometry;
      g.width = kBlock, g.lanes = int32_t(std::min<int64_t>(kBlock, s.oc - block * kBlock));
      g.rows = int32_t(std::min(strip.rows, d.phase.rows - row)), g.cols = int32_t(s.ow);
      g.x_row = strip.row_step * strip.width * kBlock, g.x_col = strip.col_step * kBlock;
      g.y_row = s.ow * kBlock, g.y_col = kBlock, g.y_blocked = true;
      const int64_t y = (plane * s.oh + row) * s.ow * kBlock;
      g.y = d.float_output ? static_cast<void*>(context.output<float>(step, 0) + y)
                           : static_cast<void*>(context.output<int8_t>(step, 0) + y);
      args.x = bytes;
      args.w = packed.w;
      args.epilogue = d.epilogue;
      args.epilogue.bias = d.bias.data() + block * kBlock;
      args.epilogue.multiplier = d.multiplier.data() + block * kBlock;
      args.at = d.at.data() + block * 2 * d.taps();
      args.group = packed.group, args.start = packed.start, args.groups = packed.counts[1];
      d.kernel(args);
      finish_piece(step, context, y, int64_t(g.rows) * s.ow * kBlock);
    }
  };
  const int64_t macs = strip.rows * s.ow * kBlock * d.taps();
  context.pool->parallel_for(s.batch * s.in_blocks() * strip.count, grain_for(macs), work);
  return {};
}

/// The zero point's term and the groups' start values leave the bias; where each tap reads; what was chosen, in words.
void finish_blocks(const int8_t* w, DepthwiseTapsParams& d, std::string& detail) {
  const ConvShape& s = d.shape;
  const int64_t taps = d.taps(), blocks = s.in_blocks();
  d.at.assign(size_t(blocks * 2 * taps), 0);
  int64_t pairs = 0;
  std::vector<int64_t> with_groups;
  for (int64_t b = 0; b < blocks; ++b) {
    const PackedBlock block(const_cast<void*>(d.packed), b, taps);
    for (int64_t i = 0; i < kBlock && b * kBlock + i < s.oc; ++i) {
      uint32_t sum = 0, start = 0;
      for (int64_t t = 0; t < taps; ++t) sum += uint32_t(int32_t(w[(b * kBlock + i) * taps + t]));
      for (int64_t g = 0; g < block.counts[1]; ++g) start += uint32_t(int32_t(block.start[g * kBlock + i]));
      int32_t& bias = d.bias[size_t(b * kBlock + i)];
      bias = int32_t(uint32_t(bias) - uint32_t(d.zero_point_x + byte_offset(d.form)) * sum - start);
    }
    // A tap that is none reads where its partner does.
    for (int64_t p = 0; p < 2 * block.counts[0] && !d.phase.strip.tap.empty(); ++p) {
      const int16_t tap = block.taps[p] < 0 ? block.taps[p - 1] : block.taps[p];
      d.at[size_t(b * 2 * taps + p)] = int32_t(d.phase.strip.tap[size_t(tap)]);
    }
    pairs += block.counts[0];
    with_groups.resize(std::max(with_groups.size(), size_t(block.counts[1]) + 1));
    ++with_groups[size_t(block.counts[1])];
  }
  detail = std::to_string(pairs * 10 / std::max<int64_t>(1, blocks));
  detail.insert(detail.size() - 1, detail.size() == 1 ? "0." : ".");
  detail = "x " + std::string(d.form == ProductForm::kSteps ? "7" : "8") + " bits, pairs " + detail + ", groups";
  for (size_t g = 0; g < with_groups.size(); ++g) {
    if (with_groups[g] > 0)
      detail += " " + std::to_string(g) + ": " + std::to_string(100 * with_groups[g] / blocks) + "%";
  }
}

}  // namespace

Status prepare_depthwise_taps(OpPrepare& p, const ConvShape& s, const KernelRow& row) {
  const Tensor &x = p.input(0), &w = p.input(1), &y = p.output(0);
  if (!w.is_constant()) return unsupported("int8 weights '" + w.name + "' must be a constant");
  DepthwiseTapsParams& d = p.make_params<DepthwiseTapsParams>();
  d.shape = s;
  d.phase = std::move(conv_phases(s)[0]);
  LQ_RETURN_IF_ERROR(
      plan_strip(d.phase, s, {kBlock, kBlock, false, s.batch * s.in_blocks(), p.threads, kDepthwiseStripBytes}));
  LQ_ASSIGN_OR_RETURN(d.zero_point_x, activation_zero_point(x));
  LQ_ASSIGN_OR_RETURN(d.multiplier, product_multipliers(x, w, y, s.oc));
  LQ_ASSIGN_OR_RETURN(d.bias, product_bias(p, 2, s.oc));
  LQ_ASSIGN_OR_RETURN(d.epilogue, product_epilogue(p, y));
  d.multiplier.resize(size_t(s.out_blocks() * kBlock), 0.0f);
  d.bias.resize(size_t(s.out_blocks() * kBlock), 0);
  d.float_output = y.dtype == DType::Float32;
  const StoredRange range = stored_range(p.graph, p.node.inputs[0]);
  const bool seven_bits = range.low >= 0 && range.high <= kLargestStepByte;
  d.form = seven_bits ? ProductForm::kSteps : ProductForm::kU8;
  const int8_t* source = w.data.as<int8_t>();
  const size_t bytes = size_t(s.in_blocks() * PackedBlock::bytes(d.taps()));
  LQ_ASSIGN_OR_RETURN(
      d.packed, p.packs.get(p.pack_key(seven_bits ? "depthwise_taps_u7" : "depthwise_taps_u8"), bytes, [&](void* out) {
        for (int64_t b = 0; b < s.in_blocks(); ++b) pack_block(s, source, b, seven_bits ? kLargestStepByte : 255, out);
      }));
  finish_blocks(source, d, p.step.detail);
  // The kernel computes up to 3 outputs more than a row has.
  const ConvStrip& strip = d.phase.strip;
  d.worker_bytes = align_up(size_t((strip.height * strip.width + 3 * strip.col_step) * kBlock) + 64);
  p.step.scratch_bytes = scratch_total(0, d.worker_bytes, p.threads);
  d.kernel = reinterpret_cast<DepthwiseTapsFn>(row.fn);
  d.offset = reinterpret_cast<OffsetU8Fn>(find_kernel("offset_u8", p.isa)->fn);
  p.set(row.name, row.isa, run_depthwise_taps);
  return {};
}

}  // namespace lq
