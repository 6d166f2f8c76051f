#include "runtime/ops/conv_winograd.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu_features.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/product_quant.h"

namespace lq {
namespace {

// The transformed input should stay in a core's second-level cache beside a panel of transformed weights.
constexpr int64_t kInputBytes = 512 << 10;
// Sums of a group of tiles, with a first-level cache in mind; more where weights come in several turns.
constexpr int64_t kGroupTiles = 12, kGroupTilesInTurns = 48;
// Input channels whose weights are transformed together: what a panel makes of them stays near. With few tiles to
// multiply them with it pays to keep them in the first-level cache.
constexpr int64_t kChannelsOnce = 64, kChannelsOnceFewTiles = 32, kFewTiles = 16;
constexpr int64_t kTaps = 9;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Cache lines for `bytes`, made an odd number, so that rows that far apart do not share cache sets.
int64_t odd_lines(int64_t bytes) { return ceil_div(bytes, 64) | 1; }

struct WinogradParams {
  ConvShape shape;
  WinogradPlan plan;
  const int8_t* packed = nullptr;
  std::vector<float> multiplier;  // [panel][16]
  std::vector<int32_t> bias;
  Epilogue epilogue{};
  int32_t zero_point_x = 0;
  WinogradInputFn input = nullptr;
  WinogradWeightsFn weights = nullptr;
  WinogradProductFn product = nullptr;
  WinogradOutputFn output = nullptr;
};

/// Canonical [oc][ic][3][3] to [panel][pair of input channels][9][16][2], or [2][16] if apart, zeros where there is no
/// channel.
void pack_winograd(const ConvShape& s, const WinogradPlan& plan, bool apart, const int8_t* w, int8_t* out) {
  const int64_t lane = apart ? 1 : 2, second = apart ? kWinogradPanel : 1;
  for (int64_t panel = 0; panel < plan.panels; ++panel) {
    const int64_t lanes = std::min<int64_t>(kWinogradPanel, s.oc - panel * kWinogradPanel);
    const int8_t* first = w + panel * kWinogradPanel * s.ic * kTaps;
    for (int64_t pair = 0; pair < plan.pairs; ++pair, out += kWinogradPairBytes) {
      if (lanes < kWinogradPanel) std::fill_n(out, kWinogradPairBytes, int8_t(0));
      for (int64_t l = 0; l < lanes; ++l) {
        const int8_t* in = first + (l * s.ic + 2 * pair) * kTaps;
        const bool two = 2 * pair + 1 < s.ic;
        for (int64_t t = 0; t < kTaps; ++t) {
          int8_t* const to = out + t * kWinogradPanel * 2 + l * lane;
          to[0] = in[t];
          to[second] = two ? in[kTaps + t] : int8_t(0);
        }
      }
    }
  }
}

/// Strips [first, first + count) and their tiles.
struct Chunk {
  int64_t first, count, tiles;
};

/// Where a strip lies.
struct Strip {
  int64_t image, row, first_tile, tiles;  // row of tiles; its tiles
};
Strip strip_at(const WinogradPlan& plan, int64_t index) {
  const int64_t row = index / plan.strip_pieces, first = index % plan.strip_pieces * plan.strip_tiles;
  return {row / plan.tiles_h, row % plan.tiles_h, first, std::min(plan.strip_tiles, plan.tiles_w - first)};
}

/// Transforms one block of 8 input channels of one strip.
void transform_strip(const WinogradParams& w, const int8_t* x, const Chunk& chunk, int64_t strip, int64_t block,
                     int16_t* v, int16_t* rows) {
  const ConvShape& s = w.shape;
  const WinogradPlan& plan = w.plan;
  const Strip at = strip_at(plan, chunk.first + strip);
  WinogradInputArgs a{};
  a.x = x + (at.image * s.in_blocks() + block) * s.ih * s.iw * kBlock;
  a.in_h = int32_t(s.ih), a.in_w = int32_t(s.iw);
  a.first_row = int32_t(at.row * plan.m - s.pad_h), a.first_col = int32_t(at.first_tile * plan.m - s.pad_w);
  a.tiles = int32_t(at.tiles), a.m = plan.m, a.zero_point = w.zero_point_x;
  a.v = v + block * plan.v_block + strip * plan.strip_tiles * kBlock, a.v_position = plan.v_position;
  a.rows = rows;
  w.input(a);
}

/// Where results go.
struct Target {
  const Step& step;
  const RunContext& context;
  uint8_t* y;
};

/// Output of tiles [begin, end) of a chunk, 16 channels of `panel`; sums begin with tile `begin`.
void transform_outputs(const WinogradParams& w, const Chunk& chunk, int64_t panel, int64_t begin, int64_t end,
                       const int32_t* sum, const Target& to) {
  const ConvShape& s = w.shape;
  const WinogradPlan& plan = w.plan;
  const int64_t plane = s.oh * s.ow * kBlock, channel = panel * kWinogradPanel;
  WinogradOutputArgs a{};
  a.sum_position = plan.sum_position, a.m = plan.m;
  a.lanes = int32_t(std::min<int64_t>(kWinogradPanel, s.oc - channel));
  a.y_row = s.ow * kBlock, a.y_block = plane;
  a.epilogue = w.epilogue;
  a.epilogue.bias = w.bias.data() + channel, a.epilogue.multiplier = w.multiplier.data() + channel;
  const int64_t element = w.epilogue.float_output ? sizeof(float) : 1;
  for (int64_t t = begin; t < end;) {
    const int64_t in_strip = t % plan.strip_tiles;
    const Strip at = strip_at(plan, chunk.first + t / plan.strip_tiles);
    const int64_t row = at.row * plan.m, col = (at.first_tile + in_strip) * plan.m;
    a.tiles = int32_t(std::min(end - t, at.tiles - in_strip));
    a.rows = int32_t(std::min<int64_t>(plan.m, s.oh - row));
    a.cols = int32_t(std::min<int64_t>(a.tiles * plan.m, s.ow - col));
    a.sum = sum + (t - begin) * kWinogradPanel;
    const int64_t first = (at.image * s.out_blocks() + channel / kBlock) * plane + (row * s.ow + col) * kBlock;
    a.y = to.y + first * element;
    w.output(a);
    for (int64_t i = 0; !to.step.fused.empty() && i < a.rows * ceil_div(a.lanes, kBlock); ++i)
      finish_piece(to.step, to.context, first + i / a.rows * plane + i % a.rows * a.y_row, a.cols * kBlock);
    t += a.tiles;
  }
}

/// What a worker owns in its scratch.
struct Worker {
  int16_t* u;
  int32_t* sum;
  int16_t* rows;
  int64_t held = -1;  // first of the panels whose weights lie in u
};
Worker worker_at(const WinogradPlan& plan, uint8_t* scratch, int worker) {
  uint8_t* own = scratch + plan.v_bytes + size_t(worker) * plan.worker_bytes;
  return {reinterpret_cast<int16_t*>(own), reinterpret_cast<int32_t*>(own + plan.u_bytes),
          reinterpret_cast<int16_t*>(own + plan.u_bytes + plan.sum_bytes)};
}

/// Tiles [begin, end) of a chunk times panels [panel, panel + plan.panels_once).
void multiply_panels(const WinogradParams& w, const Chunk& chunk, int64_t panel, int64_t begin, int64_t end,
                     const int16_t* v, Worker& own, const Target& to) {
  const WinogradPlan& plan = w.plan;
  const int64_t panels = std::min(plan.panels_once, plan.panels - panel);
  const int64_t groups = ceil_div(end - begin, plan.group_tiles);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = begin + (end - begin) * g / groups, next = begin + (end - begin) * (g + 1) / groups;
    for (int64_t pair = 0; pair < plan.pairs; pair += plan.pairs_once) {
      const int64_t pairs = std::min(plan.pairs_once, plan.pairs - pair);
      if (pairs < plan.pairs || own.held != panel) {
        for (int64_t i = 0; i < panels; ++i) {
          const int8_t* packed = w.packed + ((panel + i) * plan.pairs + pair) * kWinogradPairBytes;
          w.weights({packed, int32_t(pairs), plan.m, own.u + i * plan.u_panel, ptrdiff_t(plan.u_position)});
        }
        own.held = panel;
      }
      WinogradProductArgs a{};
      a.v = v + pair / 4 * plan.v_block + first * kBlock, a.v_position = plan.v_position, a.v_block = plan.v_block;
      a.u = own.u, a.u_position = plan.u_position, a.u_panel = plan.u_panel;
      a.panels = int32_t(panels), a.pairs = int32_t(pairs), a.tiles = int32_t(next - first);
      a.accumulate = pair > 0;
      a.sum = own.sum, a.sum_position = plan.sum_position, a.sum_panel = plan.sum_panel;
      w.product(a);
    }
    for (int64_t i = 0; i < panels; ++i)
      transform_outputs(w, chunk, panel + i, first, next, own.sum + i * plan.sum_panel, to);
  }
}

Status run_winograd(const Step& step, const RunContext& context) {
  const WinogradParams& w = step.params_as<WinogradParams>();
  const WinogradPlan& plan = w.plan;
  const int64_t blocks = w.shape.in_blocks();
  const int8_t* x = context.input<int8_t>(step, 0);
  const Target to{step, context, context.output<uint8_t>(step, 0)};
  int16_t* v = reinterpret_cast<int16_t*>(context.scratch);
  for (int64_t first = 0; first < plan.strips; first += plan.chunk_strips) {
    const int64_t count = std::min(plan.chunk_strips, plan.strips - first);
    const Chunk chunk{first, count, count == 1 ? strip_at(plan, first).tiles : count * plan.strip_tiles};
    const auto inputs = [&](int64_t begin, int64_t end, int worker) {
      const Worker own = worker_at(plan, context.scratch, worker);
      for (int64_t i = begin; i < end; ++i) transform_strip(w, x, chunk, i / blocks, i % blocks, v, own.rows);
    };
    context.pool->parallel_for(count * blocks, grain_for(plan.strip_tiles * 1024), inputs);
    // Enough pieces for all workers, but not so small that transforming the weights anew costs more than it wins.
    const int64_t turns = ceil_div(plan.panels, plan.panels_once);
    const int64_t wanted = ceil_div(4 * context.pool->size(), turns);
    const int64_t parts = context.pool->size() == 1 ? 1 : std::clamp<int64_t>(chunk.tiles / 24, 1, wanted);
    const auto products = [&](int64_t begin, int64_t end, int worker) {
      Worker own = worker_at(plan, context.scratch, worker);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % parts, panel = i / parts * plan.panels_once;
        multiply_panels(w, chunk, panel, chunk.tiles * part / parts, chunk.tiles * (part + 1) / parts, v, own, to);
      }
    };
    const int64_t macs =
        chunk.tiles / parts * winograd_positions(plan.m) * plan.pairs * 2 * kWinogradPanel * plan.panels_once;
    context.pool->parallel_for(turns * parts, grain_for(macs), products);
  }
  return {};
}

/// What a layer's parts take, measured on whole layers (benchmark/layer_benchmark.cc), in cycles of one clock; only
/// ratios matter. Those of ARM come from instruction counts (benchmark/count_instructions.sh) and llvm-mca's models of
/// Cortex-A55 and Cortex-A72, the less favourable where they differ much, those of ARMv7 and RISC-V are instructions.
/// An instruction set whose kernels have no row here runs direct.
struct Costs {
  Isa isa;              // of the direct kernel
  float direct, steps;  // multiply-adds a cycle of the direct kernel on 3 × 3 layers; of the one in steps of bytes
  float product;        // of the Winograd product
  float input[2];       // a tile and block of 8 channels, m = 2 and 4
  float output[2];      // a tile and 8 channels
  float weights[2];     // a panel and pair of input channels
};
constexpr Costs kCosts[] = {
    {Isa::kSse41, 13.5, 21, 14.5, {50, 180}, {54, 270}, {120, 350}},
    {Isa::kAvx2, 28, 39, 29, {27, 92}, {27, 137}, {64, 175}},
    {Isa::kAvxVnni, 73, 73, 38, {27, 92}, {27, 143}, {70, 163}},
    {Isa::kAvx512Vnni, 133, 133, 66, {27, 76}, {20, 99}, {50, 107}},
#if defined(__arm__)
    {Isa::kNeon, 1.8f, 1.8f, 2.5f, {280, 950}, {380, 1600}, {950, 2100}},  // instructions
#else
    {Isa::kNeon, 4.7f, 4.7f, 3.0f, {225, 755}, {300, 1290}, {760, 1680}},
#endif
    {Isa::kRvv, 4.9f, 4.9f, 6.1f, {218, 700}, {317, 1121}, {741, 1370}},  // instructions, vectors of 128 bits
};

/// Time of the layer by Winograd over the time by the direct kernel.
double relative_cost(const ConvShape& s, int m, const Costs& costs, ProductForm direct) {
  const WinogradPlan plan = plan_winograd(s, m, kWinogradPanel);
  const int which = m == 4;
  const double rate = direct == ProductForm::kSteps ? costs.steps : costs.direct;
  const double outputs = double(plan.panels) * kWinogradPanel, inputs = double(plan.pairs) * 2;
  const double tiles = double(s.batch) * double(plan.tiles_h * plan.tiles_w);
  const int64_t chunks = ceil_div(plan.strips, plan.chunk_strips);
  const int64_t turns = plan.pairs_once < plan.pairs ? ceil_div(plan.chunk_tiles, plan.group_tiles) : 1;
  const double winograd = tiles * winograd_positions(m) * inputs * outputs / costs.product +
                          tiles * double(s.in_blocks()) * costs.input[which] +
                          tiles * outputs / kBlock * costs.output[which] +
                          double(chunks * turns * plan.panels * plan.pairs) * costs.weights[which];
  return winograd / (double(s.batch * s.oh * s.ow) * kTaps * inputs * outputs / rate);
}

/// Tile size that pays for this layer, at most `exact`; 0: none. `direct`: what the direct kernel would multiply.
int best_tile(const ConvShape& s, int exact, Isa isa, ProductForm direct) {
  for (const Costs& costs : kCosts) {
    if (costs.isa != isa) continue;
    // The direct kernel takes up to 64 channels, as many as a longer vector has lanes for; Winograd's always 16.
    const double wider = isa == Isa::kRvv ? std::clamp(rvv_vector_bits() / 128, 1, 4) : 1;
    int best = 0;
    double least = 0.95;  // what the model does not see
    for (int m = 2; m <= exact; m += 2) {
      const double cost = relative_cost(s, m, costs, direct) * wider;
      if (cost < least) least = cost, best = m;
    }
    return best;
  }
  return 0;
}

}  // namespace

int winograd_exact_tile(const ConvShape& s, const int8_t* w, int32_t zero_point) {
  const int64_t lowest = -128 - zero_point,
                highest = 127 - zero_point;  // of q − zp; padding is 0, between them
  int exact = 4;
  for (int64_t o = 0; o < s.oc; ++o, w += s.ic * kTaps) {
    int32_t sum = 0,
            sizes = 0;  // conv_shape bounds the channels: 9 · 128 · 2^20 fits
    for (int64_t i = 0; i < s.ic * kTaps; ++i) {
      sum += w[i];
      sizes += std::abs(int32_t(w[i]));
    }
    const int64_t positive = (int64_t(sizes) + sum) / 2, negative = (int64_t(sum) - sizes) / 2;
    const int64_t most = positive * highest + negative * lowest, least = positive * lowest + negative * highest;
    const int64_t bound = std::max(most, -least);
    if (bound >= int64_t(1) << 29) return 0;
    if (bound >= int64_t(1) << 25) exact = 2;
  }
  return exact;
}

bool is_winograd_shape(const ConvShape& s) {
  return s.groups == 1 && s.kh == 3 && s.kw == 3 && s.sh == 1 && s.sw == 1 && s.dh == 1 && s.dw == 1 && s.batch >= 1 &&
         s.oh >= 1 && s.ow >= 1;
}

WinogradPlan plan_winograd(const ConvShape& s, int m, int panel_width) {
  WinogradPlan plan{};
  const int64_t positions = winograd_positions(m), blocks = s.in_blocks();
  plan.m = m;
  plan.tiles_h = ceil_div(s.oh, m), plan.tiles_w = ceil_div(s.ow, m);
  const int64_t fit = std::max<int64_t>(1, kInputBytes / (positions * blocks * kBlock * 2));  // tiles
  plan.strip_pieces = ceil_div(plan.tiles_w, fit);
  plan.strip_tiles = ceil_div(plan.tiles_w, plan.strip_pieces);
  plan.strip_pieces = ceil_div(plan.tiles_w, plan.strip_tiles);
  plan.strips = s.batch * plan.tiles_h * plan.strip_pieces;
  const int64_t chunks = plan.strip_pieces > 1 ? plan.strips : ceil_div(plan.strips, fit / plan.strip_tiles);
  plan.chunk_strips = ceil_div(plan.strips, std::max<int64_t>(1, chunks));
  plan.chunk_tiles = plan.chunk_strips * plan.strip_tiles;
  const int64_t channels_once = plan.chunk_tiles <= kFewTiles ? kChannelsOnceFewTiles : kChannelsOnce;
  plan.pairs = ceil_div(s.ic, 2), plan.pairs_once = std::min(plan.pairs, channels_once / 2);
  plan.panels = ceil_div(s.oc, kWinogradPanel),
  plan.panels_once = std::min<int64_t>(plan.panels, panel_width / kWinogradPanel);
  plan.group_tiles = std::min(plan.chunk_tiles, plan.pairs_once < plan.pairs ? kGroupTilesInTurns : kGroupTiles);
  plan.v_block = odd_lines(plan.chunk_tiles * kBlock * 2) * 32;
  plan.v_position = odd_lines(blocks * plan.v_block * 2) * 32;
  plan.u_position = odd_lines(plan.pairs_once * 64) * 32;
  plan.sum_position = odd_lines(plan.group_tiles * 64) * 16;
  plan.u_panel = positions * plan.u_position, plan.sum_panel = positions * plan.sum_position;
  plan.v_bytes = align_up(size_t(positions * plan.v_position) * sizeof(int16_t));
  plan.u_bytes = align_up(size_t(plan.panels_once * plan.u_panel) * sizeof(int16_t));
  plan.sum_bytes = align_up(size_t(plan.panels_once * plan.sum_panel) * sizeof(int32_t));
  plan.worker_bytes = plan.u_bytes + plan.sum_bytes +
                      align_up(size_t(winograd_row_scratch(plan.strip_tiles, s.iw, m)) * sizeof(int16_t));
  return plan;
}

WinogradProduct winograd_product(int m, Isa isa) {
  const KernelRow* pairs = find_kernel(m == 4 ? "winograd43_s8" : "winograd23_s8", isa);
  const KernelRow* apart = find_kernel(m == 4 ? "winograd43_s8x1" : "winograd23_s8x1", isa);
  const bool is_apart = apart->isa != Isa::kScalar;  // no instruction set has both
  return {is_apart ? apart : pairs, is_apart};
}

Result<bool> prepare_winograd(OpPrepare& p, const ConvShape& shape) {
  const Tensor &x = p.input(0), &weights = p.input(1);
  // The scalar plan stays the plain sum that all others must equal.
  if (winograd_product(4, p.isa).row->isa == Isa::kScalar || !is_winograd_shape(shape) || !weights.is_constant())
    return false;
  LQ_ASSIGN_OR_RETURN(const int32_t zero_point, activation_zero_point(x));
  ProductForm form{};
  const KernelRow* direct =
      integer_product_kernel("conv", p.isa, x, weights, stored_range(p.graph, p.node.inputs[0]), &form);
  const int exact = winograd_exact_tile(shape, weights.data.as<int8_t>(), zero_point);
  const int m = best_tile(shape, exact, direct->isa, form);
  if (m == 0) return false;
  LQ_RETURN_IF_ERROR(prepare_winograd_tile(p, shape, m));
  return true;
}

Status prepare_winograd_tile(OpPrepare& p, const ConvShape& shape, int m) {
  const Tensor &x = p.input(0), &weights = p.input(1), &y = p.output(0);
  WinogradParams& w = p.make_params<WinogradParams>();
  w.shape = shape;
  const auto [row, apart] = winograd_product(m, p.isa);
  const WinogradPlan plan = plan_winograd(shape, m, row->panel_width);
  w.plan = plan;
  LQ_ASSIGN_OR_RETURN(w.zero_point_x, activation_zero_point(x));
  LQ_ASSIGN_OR_RETURN(w.multiplier, product_multipliers(x, weights, y, shape.oc));
  LQ_ASSIGN_OR_RETURN(w.bias, product_bias(p, 2, shape.oc));
  LQ_ASSIGN_OR_RETURN(w.epilogue, product_epilogue(p, y));
  w.multiplier.resize(size_t(plan.panels * kWinogradPanel), 0.0f);
  w.bias.resize(size_t(plan.panels * kWinogradPanel), 0);
  const int8_t* source = weights.data.as<int8_t>();
  LQ_ASSIGN_OR_RETURN(const void* packed,
                      p.packs.get(p.pack_key(apart ? "conv_winograd_x1" : "conv_winograd"),
                                  size_t(plan.panels * plan.pairs * kWinogradPairBytes), [&, apart = apart](void* out) {
                                    pack_winograd(shape, plan, apart, source, static_cast<int8_t*>(out));
                                  }));
  w.packed = static_cast<const int8_t*>(packed);
  w.input = reinterpret_cast<WinogradInputFn>(find_kernel("winograd_input", p.isa)->fn);
  w.weights = reinterpret_cast<WinogradWeightsFn>(find_kernel("winograd_weights", p.isa)->fn);
  w.output = reinterpret_cast<WinogradOutputFn>(find_kernel("winograd_output", p.isa)->fn);
  w.product = reinterpret_cast<WinogradProductFn>(row->fn);
  p.set(row->name, row->isa, run_winograd);
  p.step.scratch_bytes = plan.v_bytes + plan.worker_bytes * size_t(p.threads);
  return {};
}

}  // namespace lq
