// Conv and ConvTranspose on saturating byte products: panels whose steps are sorted by what is proved of their weights.
#include <algorithm>

#include "runtime/ops/conv_pack.h"
#include "runtime/ops/conv_run.h"

namespace lq {
namespace {

/// Calls f(panel, phase, tile, where its natural weights begin, its natural steps).
template <typename F>
void for_each_panel(const ConvPlan& plan, F&& f) {
  size_t panel = 0;
  for (const ConvPhase& phase : plan.phases) {
    const int64_t taps = int64_t(phase.taps.size());
    for (const ConvTile& tile : plan.tiles)
      f(panel++, phase, tile, phase.weights + tile.panel * taps, tile.steps * taps);
  }
}

size_t panel_count(const ConvPlan& plan) { return plan.phases.size() * plan.tiles.size(); }

struct SortedPanels {
  std::vector<SortedSteps> panels;
  std::vector<int32_t> sums;  // as pack_conv_bytes
};

SortedPanels sort_panels(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w) {
  SortedPanels all;
  all.sums.resize(plan.phases.size() * size_t(plan.slots));
  std::vector<int8_t> natural(static_cast<size_t>(plan.weight_total));
  pack_conv_steps(plan, strides, w, natural.data(), all.sums.data());
  for_each_panel(plan, [&](size_t, const ConvPhase&, const ConvTile& tile, int64_t weights, int64_t steps) {
    all.panels.push_back(sort_steps(natural.data() + weights, steps, tile.width, largest_byte(plan.form)));
  });
  return all;
}

/// `plan` with a few of its tiles, evenly spaced.
ConvPlan sample_of(const ConvPlan& plan) {
  constexpr size_t kTiles = 4;
  ConvPlan sample = plan;
  sample.tiles.clear();
  sample.panel_total = sample.weight_total = 0, sample.slots = 0;
  const size_t count = std::min(kTiles, plan.tiles.size());
  for (size_t i = 0; i < count; ++i) {
    ConvTile tile = plan.tiles[i * plan.tiles.size() / count];
    tile.panel = sample.panel_total, tile.slot = sample.slots;
    sample.panel_total += int64_t(tile.steps) * kBlock * tile.width;
    sample.slots += tile.width;
    sample.tiles.push_back(tile);
  }
  for (ConvPhase& phase : sample.phases) {
    phase.weights = sample.weight_total;
    sample.weight_total += int64_t(phase.taps.size()) * sample.panel_total;
  }
  return sample;
}

/// Where each step of each panel reads, and what packing found, in words.
void place_steps(const StepCounts* counts, const int32_t* order, ConvParams& c, std::string& detail) {
  const ConvPlan& plan = c.plan;
  StepShares shares;
  int64_t weights = 0;
  for_each_panel(plan, [&](size_t panel, const ConvPhase& phase, const ConvTile& tile, int64_t, int64_t) {
    const ConvStrip& strip = phase.strip;
    const int64_t block = (strip.direct ? plan.shape.ih * plan.shape.iw : strip.height * strip.width) * kBlock;
    shares.add(counts[panel], tile.width);
    c.step_panels.push_back({weights, int64_t(c.step_at.size()), counts[panel]});
    for (int32_t n = counts[panel].total(); n > 0; --n, ++order) {
      // A phase without outputs has no strip either. Positions fit 32 bits: steps_fit.
      const int64_t taps = int64_t(phase.taps.size());
      const int64_t tap = strip.tap.empty() ? 0 : strip.tap[size_t(*order % taps)];
      c.step_at.push_back(int32_t(*order / taps * block + tap));
    }
    weights += counts[panel].total() * kBlock * tile.width;
  });
  detail = (plan.form == ProductForm::kStepsU8 ? "x 8 bits, " : "") + shares.text();
}

}  // namespace

bool steps_fit(const ConvShape& s) {
  return saturating_product({s.in_blocks() * kBlock, s.ih, s.iw}) < (int64_t(1) << 31);
}

Result<bool> steps_u8_pay(OpPrepare& p, const ConvPlan& plan, const WeightStrides& strides) {
  if (!steps_fit(plan.shape) || plan.shape.icg < kBlock) return false;
  const int8_t* w = p.input(1).data.as<int8_t>();
  const auto weigh = [&](void* out) {
    ConvPlan trial = plan;
    trial.form = ProductForm::kStepsU8;
    plan_tiles(trial);
    const ConvPlan sample = sample_of(trial);
    const SortedPanels sorted = sort_panels(sample, strides, w);
    int64_t in_steps = 0, in_int16 = 0;
    for_each_panel(sample, [&](size_t panel, const ConvPhase& phase, const ConvTile& tile, int64_t, int64_t) {
      in_steps += step_cost(sorted.panels[panel].counts) * tile.width;
      const int64_t channels = tile.blocks * kBlock + (tile.tail + 1) / 2 * 2;
      in_int16 += int16_cost(int64_t(phase.taps.size()) * channels) * tile.width;
    });
    *static_cast<int32_t*>(out) = in_steps < in_int16;
  };
  LQ_ASSIGN_OR_RETURN(const void* pay, p.packs.get(p.pack_key("conv_steps_u8_pay"), sizeof(int32_t), weigh));
  return *static_cast<const int32_t*>(pay) != 0;
}

Status pack_steps(OpPrepare& p, ConvParams& c) {
  const ConvPlan& plan = c.plan;
  const bool u8 = plan.form == ProductForm::kStepsU8;
  const size_t sums = plan.phases.size() * size_t(plan.slots), panels = panel_count(plan);
  SortedPanels all;  // if this call is the one that packs
  const auto sort = [&] {
    if (all.panels.size() != panels) all = sort_panels(plan, c.strides, p.input(1).data.as<int8_t>());
  };
  const StepCounts* known = nullptr;  // with halves the counts say how much there is to pack
  if (u8) {
    const auto count = [&](void* out) {
      sort();
      for (size_t i = 0; i < panels; ++i) static_cast<StepCounts*>(out)[i] = all.panels[i].counts;
    };
    LQ_ASSIGN_OR_RETURN(const void* counts,
                        p.packs.get(p.pack_key("conv_steps_u8_counts"), panels * sizeof(StepCounts), count));
    known = static_cast<const StepCounts*>(counts);
  }
  int64_t steps = 0, bytes = 0;
  for_each_panel(plan, [&](size_t panel, const ConvPhase&, const ConvTile& tile, int64_t, int64_t natural) {
    const int64_t count = u8 ? known[panel].total() : natural;
    steps += count, bytes += count * kBlock * tile.width;
  });
  // [sums][counts of each panel][order of all steps][weights]
  const size_t head = align_up((sums + size_t(steps)) * sizeof(int32_t) + panels * sizeof(StepCounts));
  const auto fill = [&](void* out) {
    sort();
    auto* counts =
        reinterpret_cast<StepCounts*>(std::copy(all.sums.begin(), all.sums.end(), static_cast<int32_t*>(out)));
    int32_t* order = reinterpret_cast<int32_t*>(counts + panels);
    int8_t* w = static_cast<int8_t*>(out) + head;
    for (const SortedSteps& s : all.panels) {
      *counts++ = s.counts;
      order = std::copy(s.order.begin(), s.order.end(), order);
      w = std::copy(s.w.begin(), s.w.end(), w);
    }
  };
  LQ_ASSIGN_OR_RETURN(const void* packed,
                      p.packs.get(p.pack_key(u8 ? "conv_steps_u8" : "conv_steps"), head + size_t(bytes), fill));
  c.packed = static_cast<const uint8_t*>(packed) + head;
  const int32_t* sum = static_cast<const int32_t*>(packed);
  for (size_t i = 0; i < sums; ++i)
    c.bias[i] = int32_t(uint32_t(c.bias[i]) - uint32_t(c.zero_point_x + byte_offset(plan.form)) * uint32_t(sum[i]));
  const auto* counts = reinterpret_cast<const StepCounts*>(sum + sums);
  place_steps(counts, reinterpret_cast<const int32_t*>(counts + panels), c, p.step.detail);
  return {};
}

}  // namespace lq
