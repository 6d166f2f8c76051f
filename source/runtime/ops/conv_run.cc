#include "runtime/ops/conv_run.h"

#include <algorithm>

#include "runtime/ops/product_quant.h"

namespace lq {
namespace {

/// One work item: a strip of one image and one tile of channels. Tiles run fastest, so a strip is filled once a worker.
struct Item {
  const ConvTile& tile;
  int64_t image, row, rows;
  int64_t strip_key;
};

Item item_at(const ConvPlan& plan, const ConvPhase& phase, int64_t index) {
  const int64_t tiles = int64_t(plan.tiles.size()), key = index / tiles;
  const int64_t row = key % phase.strip.count * phase.strip.rows;
  return {plan.tiles[size_t(index % tiles)], key / phase.strip.count, row, std::min(phase.strip.rows, phase.rows - row),
          key};
}

int64_t phase_grain(const ConvPlan& plan, const ConvPhase& phase) {
  const int64_t tile_macs = plan.panel_total / int64_t(plan.tiles.size()) * int64_t(phase.taps.size());
  return grain_for(saturating_product({phase.strip.rows, phase.cols, tile_macs}));
}

/// Everything but y, and but x's steps in direct mode.
PanelGeometry panel_geometry(const ConvPhase& phase, const Item& item) {
  const ConvStrip& strip = phase.strip;
  PanelGeometry g{};
  g.x_block = strip.height * strip.width * kBlock;
  g.x_row = strip.row_step * strip.width * kBlock;
  g.x_col = strip.col_step * kBlock;
  g.tap = strip.tap.data();
  g.taps = int32_t(phase.taps.size());
  g.blocks = item.tile.blocks;
  g.tail = item.tile.tail;
  g.width = item.tile.width;
  g.lanes = item.tile.lanes;
  g.rows = int32_t(item.rows);
  g.cols = int32_t(phase.cols);
  g.y_blocked = true;
  return g;
}

/// x of plan.joined: a row's values in one run.
void join_geometry(PanelGeometry& g, const ConvShape& s, const ConvStrip& strip) {
  g.x_block = kBlock;
  g.x_row = strip.row_step * strip.width * s.ic;
  g.x_col = strip.col_step * s.ic;
}

/// Points y at the item's first output; the tensor's elements are of type T.
template <typename T>
void set_output(PanelGeometry& g, const ConvShape& s, const ConvPhase& phase, const Item& item, T* y) {
  const int64_t plane = s.oh * s.ow * kBlock;
  const int64_t row = phase.row0 + item.row * phase.row_step;
  T* first =
      y + (item.image * s.out_blocks() + item.tile.channel / kBlock) * plane + (row * s.ow + phase.col0) * kBlock;
  g.y = first;
  g.y_block = plane;
  g.y_row = phase.row_step * s.ow * kBlock;
  g.y_col = phase.col_step * kBlock;
}

/// Results of a tile whose channels don't begin at a block: [pixel][16] floats to their places; the tile with the last
/// channel also clears the lanes behind it.
void scatter(const ConvShape& s, const ConvPhase& phase, const Item& item, const float* results, float* y) {
  const int64_t plane = s.oh * s.ow * kBlock, first = item.tile.channel;
  const bool is_last = first + item.tile.lanes == s.oc;
  const int64_t end = is_last ? s.out_blocks() * kBlock : first + item.tile.lanes;
  for (int64_t c = first; c < end; ++c) {
    float* channel = y + (item.image * s.out_blocks() + c / kBlock) * plane + c % kBlock;
    for (int64_t r = 0; r < item.rows; ++r) {
      const int64_t row = phase.row0 + (item.row + r) * phase.row_step;
      for (int64_t i = 0; i < phase.cols; ++i) {
        const bool real = c < first + item.tile.lanes;
        channel[(row * s.ow + phase.col0 + i * phase.col_step) * kBlock] =
            real ? results[(r * phase.cols + i) * 16 + c - first] : 0.0f;
      }
    }
  }
}

}  // namespace

int64_t grain_for(int64_t macs_per_item) {
  constexpr int64_t kMacsPerWake = 64 << 10;  // a few microseconds
  return std::max<int64_t>(1, kMacsPerWake / std::max<int64_t>(1, macs_per_item));
}

namespace {

/// The integer forms: operand types, kernel, strip, and what the kernel wants to know of an item beyond that.
struct FormS16 {
  using Args = ConvS8Args;
  using Source = int8_t;
  using X = int16_t;
  using W = int16_t;
  static void fill(const ConvParams& c, const ConvPhase& phase, const Source* x, int64_t row, X* strip) {
    fill_from(c, phase, x, row, WidenPixels{c.zero_point_x, c.widen}, strip);
  }
  static void set_item(const ConvParams&, int64_t, const Item&, Args&) {}
  static void run(const ConvParams& c, const Args& args) { c.conv_s8(args); }

 protected:
  template <typename From, typename Convert>
  static void fill_from(const ConvParams& c, const ConvPhase& phase, const From* x, int64_t row, const Convert& convert,
                        X* strip) {
    if (c.plan.joined) return fill_strip_joined(c.plan.shape, phase, x, row, convert, strip);
    fill_strip_s16(c.plan.shape, phase, c.plan.strip_blocks, x, row, convert, strip);
  }
};
struct FormS16OfS16 : FormS16 {
  using Source = int16_t;
  static void fill(const ConvParams& c, const ConvPhase& phase, const Source* x, int64_t row, X* strip) {
    fill_from(c, phase, x, row, CopyPixels{}, strip);
  }
};
struct FormBytes {
  using Source = int8_t;
  using Args = ConvByteArgs;
  using X = uint8_t;
  using W = int8_t;
  static void fill(const ConvParams& c, const ConvPhase& phase, const int8_t* x, int64_t row, X* strip) {
    fill_strip_bytes(c.plan.shape, phase, c.plan.strip_blocks, x, row, c.zero_point_x, c.plan.form, c.offset, strip);
  }
  static void set_item(const ConvParams&, int64_t, const Item&, Args&) {}
  static void run(const ConvParams& c, const Args& args) { c.conv_bytes(args); }
};
struct FormSteps : FormBytes {
  using Args = ConvStepsArgs;
  static void set_item(const ConvParams& c, int64_t phase, const Item& item, Args& args) {
    const int64_t tile = &item.tile - c.plan.tiles.data();
    const StepPanel& panel = c.step_panels[size_t(phase * int64_t(c.plan.tiles.size()) + tile)];
    args.w = static_cast<const int8_t*>(c.packed) + panel.weights;
    args.at = c.step_at.data() + panel.first_step;
    args.twice = panel.counts.twice, args.once = panel.counts.once, args.pairs = panel.counts.pairs;
  }
  static void run(const ConvParams& c, const Args& args) { c.conv_steps(args); }
};

/// x of an item: the worker's strip, filled when the item needs another one than before, or the tensor itself.
template <typename Form>
void set_input(typename Form::Args& args, const ConvParams& c, const ConvPhase& phase, const Item& item,
               const typename Form::Source* x, typename Form::X* strip, int64_t& filled) {
  const ConvShape& s = c.plan.shape;
  const int64_t plane = s.ih * s.iw * kBlock;
  const typename Form::Source* image = x + item.image * s.in_blocks() * plane;
  if (phase.strip.direct) {
    args.geometry.x_block = plane;
    const int64_t row = item.row * phase.row_mult + phase.strip.first_row;
    // Only byte forms without offset and int16 activations run direct: x is what they read.
    args.x = reinterpret_cast<const typename Form::X*>(image + (row * s.iw + phase.strip.first_col) * kBlock);
  } else {
    if (filled != item.strip_key && !phase.taps.empty()) Form::fill(c, phase, image, item.row, strip);
    filled = item.strip_key;
    args.x = strip;
  }
  args.x += item.tile.in_begin / kBlock * args.geometry.x_block;
}

/// A Conv has one phase, of all outputs: an item's rows are one run in each of its blocks.
void finish_item(const Step& step, const RunContext& context, const ConvShape& s, const Item& item) {
  const int64_t first = item.image * s.out_blocks() + item.tile.channel / kBlock;
  for (int64_t b = 0; b * kBlock < item.tile.lanes; ++b)
    finish_piece(step, context, ((first + b) * s.oh + item.row) * s.ow * kBlock, item.rows * s.ow * kBlock);
}

/// Runs the kernel for an item whose x and w are set, into y of the output's type.
template <typename Form>
void run_item(const ConvParams& c, const ConvPhase& phase, const Item& item, typename Form::Args& args,
              const Step& step, const RunContext& context, float* results) {
  const ConvShape& s = c.plan.shape;
  if (c.short_output) {
    set_output(args.geometry, s, phase, item, context.output<int16_t>(step, 0));
    const PanelGeometry whole = args.geometry;
    const auto x = args.x;
    return c.short_output.run_blocked(whole, results, [&](const PanelGeometry& rows, int64_t first) {
      args.geometry = rows;
      args.x = x + first * whole.x_row;
      Form::run(c, args);
    });
  }
  if (c.float_output) {
    set_output(args.geometry, s, phase, item, context.output<float>(step, 0));
  } else {
    set_output(args.geometry, s, phase, item, context.output<int8_t>(step, 0));
  }
  Form::run(c, args);
}

template <typename Form>
Status run_conv_integer(const Step& step, const RunContext& context) {
  const ConvParams& params = step.params_as<ConvParams>();
  const ConvPlan& plan = params.plan;
  const ConvShape& s = plan.shape;
  const auto* x = context.input<typename Form::Source>(step, 0);
  const int32_t* bias = params.bias.data();
  for (const ConvPhase& phase : plan.phases) {
    const int32_t* phase_bias = bias;
    bias += plan.slots;
    if (phase.rows <= 0 || phase.cols <= 0) continue;
    const int64_t items = s.batch * phase.strip.count * int64_t(plan.tiles.size());
    const auto work = [&](int64_t begin, int64_t end, int worker) {
      uint8_t* own = context.scratch + size_t(worker) * params.worker_bytes;
      auto* strip = reinterpret_cast<typename Form::X*>(own);
      float* results = reinterpret_cast<float*>(own + params.strip_bytes);
      int64_t filled = -1;
      for (int64_t i = begin; i < end; ++i) {
        const Item item = item_at(plan, phase, i);
        typename Form::Args args{};
        args.geometry = panel_geometry(phase, item);
        if (plan.joined) join_geometry(args.geometry, s, phase.strip);
        args.epilogue = params.epilogue;
        set_input<Form>(args, params, phase, item, x, strip, filled);
        args.w = static_cast<const typename Form::W*>(params.packed) + phase.weights +
                 item.tile.panel * int64_t(phase.taps.size());
        args.epilogue.bias = phase_bias + item.tile.slot;
        args.epilogue.multiplier = params.constants.data() + item.tile.slot;
        Form::set_item(params, &phase - plan.phases.data(), item, args);
        run_item<Form>(params, phase, item, args, step, context, results);
        if (!step.fused.empty()) finish_item(step, context, s, item);
      }
    };
    context.pool->parallel_for(items, phase_grain(plan, phase), work);
  }
  return {};
}

}  // namespace

Status run_conv_s16(const Step& step, const RunContext& context) { return run_conv_integer<FormS16>(step, context); }
Status run_conv_s16_of_s16(const Step& step, const RunContext& context) {
  return run_conv_integer<FormS16OfS16>(step, context);
}
Status run_conv_bytes(const Step& step, const RunContext& context) {
  return run_conv_integer<FormBytes>(step, context);
}
Status run_conv_steps(const Step& step, const RunContext& context) {
  return run_conv_integer<FormSteps>(step, context);
}

namespace {

/// Weights and start values of this run: packed now if they are no constants.
struct RunConstants {
  const float *weights, *start;
};

RunConstants constants_of_run(const ConvParams& params, const Step& step, const RunContext& context) {
  RunConstants c{static_cast<const float*>(params.packed), params.constants.data()};
  if (params.packed == nullptr) {
    float* packed = reinterpret_cast<float*>(context.scratch);
    pack_conv_f32(params.plan, params.strides, context.input<float>(step, 1), packed);
    c.weights = packed;
  }
  if (params.bias_at_run) {
    float* start = reinterpret_cast<float*>(context.scratch + params.packed_bytes);
    fill_slots(params.plan.tiles, context.input<float>(step, 2), start);
    c.start = start;
  }
  return c;
}

/// x of an item: the worker's strip (filled when the item needs another one than before), or the tensor itself.
void set_input(ConvF32Args& args, const ConvPlan& plan, const ConvPhase& phase, const Item& item, const float* x,
               float* strip, int64_t& filled) {
  const ConvShape& s = plan.shape;
  const int64_t channel = item.tile.group * s.icg, plane = s.ih * s.iw * kBlock;
  const float* image = x + item.image * s.in_blocks() * plane;
  if (phase.strip.direct) {
    args.geometry.x_block = plane;
    const int64_t row = item.row * phase.row_mult + phase.strip.first_row;
    args.x = image + channel / kBlock * plane + (row * s.iw + phase.strip.first_col) * kBlock;
    return;
  }
  const int64_t key = item.strip_key * s.groups + item.tile.group;
  if (filled != key) fill_strip_f32(s, phase, channel, s.icg, image, item.row, strip);
  filled = key;
  args.x = strip;
}

}  // namespace

Status run_conv_f32(const Step& step, const RunContext& context) {
  const ConvParams& params = step.params_as<ConvParams>();
  const ConvPlan& plan = params.plan;
  const ConvShape& s = plan.shape;
  const float* x = context.input<float>(step, 0);
  float* y = context.output<float>(step, 0);
  const RunConstants constants = constants_of_run(params, step, context);
  for (const ConvPhase& phase : plan.phases) {
    if (phase.rows <= 0 || phase.cols <= 0) continue;
    const int64_t items = s.batch * phase.strip.count * int64_t(plan.tiles.size());
    const auto work = [&](int64_t begin, int64_t end, int worker) {
      uint8_t* own = context.scratch + params.packed_bytes + params.start_bytes + size_t(worker) * params.worker_bytes;
      float* results = reinterpret_cast<float*>(own + params.strip_bytes);
      int64_t filled = -1;
      for (int64_t i = begin; i < end; ++i) {
        const Item item = item_at(plan, phase, i);
        ConvF32Args args{
            panel_geometry(phase, item), nullptr, nullptr, constants.start + item.tile.slot, 0, 0, params.clamp};
        set_input(args, plan, phase, item, x, reinterpret_cast<float*>(own), filled);
        args.w = constants.weights + phase.weights + item.tile.panel * int64_t(phase.taps.size());
        if (plan.scatter) {
          PanelGeometry& g = args.geometry;
          g.y = results, g.y_block = kBlock;
          g.y_row = phase.cols * 16, g.y_col = 16;
          params.conv_f32(args);
          scatter(s, phase, item, results, y);
        } else {
          set_output(args.geometry, s, phase, item, y);
          params.conv_f32(args);
          if (!step.fused.empty()) finish_item(step, context, s, item);
        }
      }
    };
    context.pool->parallel_for(items, phase_grain(plan, phase), work);
  }
  return {};
}

}  // namespace lq
