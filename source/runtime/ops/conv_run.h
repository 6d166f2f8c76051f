// Conv and ConvTranspose through the panel kernels: prepared state and the two run functions.
#pragma once
#include <vector>

#include "runtime/ops/conv_pack.h"
#include "runtime/ops/conv_plan.h"
#include "runtime/ops/product_steps.h"
#include "runtime/ops/short_output.h"

namespace lq {

/// A panel of a step form: where its weights and its steps begin.
struct StepPanel {
  int64_t weights, first_step;
  StepCounts counts;
};

struct ConvParams {
  ConvPlan plan;
  WeightStrides strides;
  const void* packed = nullptr;  // nullptr (float only): the weights are no constant, packed at every run
  std::vector<float> constants;  // int8: multiplier; float: start (the bias); one entry a slot
  std::vector<int32_t> bias;     // int8, [phase][slot]: byte operands fold in what a phase's taps sum to
  bool bias_at_run = false;      // float: the bias is no constant
  bool float_output = true;
  ShortOutput short_output;
  int32_t zero_point_x = 0;
  Epilogue epilogue{};                 // int8
  FloatClamp clamp{};                  // float
  ConvS8Fn conv_s8 = nullptr;          // form kS16
  ConvByteFn conv_bytes = nullptr;     // the dot-product forms
  ConvStepsFn conv_steps = nullptr;    // the step forms
  std::vector<StepPanel> step_panels;  // [phase][tile]
  std::vector<int32_t> step_at;        // of all panels: where a step reads, from the pixel
  ConvF32Fn conv_f32 = nullptr;
  WidenS8Fn widen = nullptr;
  OffsetU8Fn offset = nullptr;
  // Scratch: [packed weights][start][strip and result buffer of each worker]
  size_t packed_bytes = 0, start_bytes = 0, strip_bytes = 0, worker_bytes = 0;
};

Status run_conv_s16(const Step& step, const RunContext& context);
Status run_conv_s16_of_s16(const Step& step, const RunContext& context);  // int16 activations
Status run_conv_bytes(const Step& step, const RunContext& context);
Status run_conv_steps(const Step& step, const RunContext& context);
Status run_conv_f32(const Step& step, const RunContext& context);

/// Spreads per-channel values over the tiles' slots, 0 in lanes without a channel.
template <typename T>
void fill_slots(const std::vector<ConvTile>& tiles, const T* values, T* slots) {
  for (const ConvTile& t : tiles) {
    for (int32_t l = 0; l < t.width; ++l)
      slots[t.slot + l] = l < t.lanes && values != nullptr ? values[t.channel + l] : T(0);
  }
}

/// Work items a thread should get at least, so that waking it pays.
int64_t grain_for(int64_t macs_per_item);

/// Checks what the kernels will trust, and says whether the layer is int8 × int8.
Result<bool> check_conv(const OpPrepare& p, const ConvShape& s);

/// Shared by Conv and ConvTranspose: everything behind the choice of phases.
Status prepare_conv_panels(OpPrepare& p, const ConvShape& shape, std::vector<ConvPhase> phases, bool transposed,
                           bool integer);

// conv_steps.cc: the step forms.
/// Steps count input elements in 32 bits: an image and every strip (kMaxStripBytes) must.
bool steps_fit(const ConvShape& s);
/// An integer layer whose x may hold any int8: is form kStepsU8 cheaper than int16? Counted once a layer.
Result<bool> steps_u8_pay(OpPrepare& p, const ConvPlan& plan, const WeightStrides& strides);
/// Sets c.packed, bias, step_panels and step_at; strips must be planned.
Status pack_steps(OpPrepare& p, ConvParams& c);

Status prepare_conv_transpose(OpPrepare& p);  // conv_transpose.cc

}  // namespace lq
