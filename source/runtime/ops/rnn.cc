#include "runtime/ops/rnn.h"

#include <cstring>

#include "runtime/ops/scratch.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

template <typename T>
T* scratch_at(const RunContext& context, size_t offset) {
  return reinterpret_cast<T*>(context.scratch + offset);
}

// Packs one direction's weights (W [gates·hidden, input], R [gates·hidden, hidden]: a product by their transposes).
void pack_w(const RnnParams& p, const float* w, float* to) {
  pack_panels(w, 1, p.input, p.input, p.gates * p.hidden, to);
}
void pack_r(const RnnParams& p, const float* r, float* to) {
  pack_panels(r, 1, p.hidden, p.hidden, p.r_gates() * p.hidden, to);
}
void pack_r_new(const RnnParams& p, const float* r, float* to) {
  pack_panels(r + 2 * p.hidden * p.hidden, 1, p.hidden, p.hidden, p.hidden, to);
}

// Start of the x·W chains: Wb + Rb; where the reset gate scales h·R + Rb, the h gate starts from Wb alone.
void fill_start(const RnnParams& p, const float* bias, float* start) {
  std::memset(start, 0, size_t(p.row) * sizeof(float));
  if (bias == nullptr) return;
  const int64_t n = p.gates * p.hidden;
  const int64_t joined = p.linear_before_reset ? 2 * p.hidden : n;
  for (int64_t i = 0; i < n; ++i) start[i] = i < joined ? bias[i] + bias[n + i] : bias[i];
}

void load_state(const RnnParams& p, const float* from, int64_t direction, float* state) {
  const int64_t batch_stride = p.batch_first ? p.directions * p.hidden : p.hidden;
  const int64_t base = p.batch_first ? direction * p.hidden : direction * p.batch * p.hidden;
  for (int64_t b = 0; b < p.batch; ++b) {
    float* to = state + b * p.hidden;
    if (from)
      std::memcpy(to, from + base + b * batch_stride, size_t(p.hidden) * sizeof(float));
    else
      std::memset(to, 0, size_t(p.hidden) * sizeof(float));
  }
}

void store_state(const RnnParams& p, const float* state, int64_t direction, float* to) {
  if (to == nullptr) return;
  const int64_t batch_stride = p.batch_first ? p.directions * p.hidden : p.hidden;
  const int64_t base = p.batch_first ? direction * p.hidden : direction * p.batch * p.hidden;
  for (int64_t b = 0; b < p.batch; ++b) {
    std::memcpy(to + base + b * batch_stride, state + b * p.hidden, size_t(p.hidden) * sizeof(float));
  }
}

// One row of Y: [sequence, directions, batch, hidden] or [batch, sequence, directions, hidden].
float* output_row(const RnnParams& p, float* y, int64_t t, int64_t direction, int64_t b) {
  const int64_t row =
      p.batch_first ? (b * p.sequence + t) * p.directions + direction : (t * p.directions + direction) * p.batch + b;
  return y + row * p.hidden;
}

using StepFn = void (*)(const RnnCell&, float*, int64_t, int64_t, int64_t);

// The recurrence of one direction. With equal lengths a step takes the whole batch at once; otherwise entry by entry,
// since a reverse pass starts at each entry's own end. Beyond an entry's length the state stays and Y is zero.
void run_direction(const RnnCell& cell, StepFn advance, int64_t direction, const int32_t* lengths, float* gates,
                   float* y) {
  const RnnParams& p = cell.params;
  const bool reverse = p.reverse_only || direction == 1;
  const int64_t gate_stride = p.batch_stride(p.row), time_stride = p.time_stride(p.row);
  for (int64_t s = 0; s < p.sequence; ++s) {
    if (lengths == nullptr) {
      const int64_t t = reverse ? p.sequence - 1 - s : s;
      advance(cell, gates + t * time_stride, gate_stride, 0, p.batch);
      for (int64_t b = 0; y && b < p.batch; ++b) {
        std::memcpy(output_row(p, y, t, direction, b), cell.h + b * p.hidden, size_t(p.hidden) * sizeof(float));
      }
      continue;
    }
    for (int64_t b = 0; b < p.batch; ++b) {
      if (s >= lengths[b]) {
        if (y) std::memset(output_row(p, y, s, direction, b), 0, size_t(p.hidden) * sizeof(float));
        continue;
      }
      const int64_t t = reverse ? lengths[b] - 1 - s : s;
      advance(cell, gates + t * time_stride + b * gate_stride, gate_stride, b, 1);
      if (y) std::memcpy(output_row(p, y, t, direction, b), cell.h + b * p.hidden, size_t(p.hidden) * sizeof(float));
    }
  }
}

Status check_lengths(const RnnParams& p, const int32_t* lengths) {
  for (int64_t b = 0; lengths && b < p.batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > p.sequence) {
      return invalid_argument("sequence_lens has " + std::to_string(lengths[b]) + " for sequences of " +
                              std::to_string(p.sequence));
    }
  }
  return {};
}

// This run's packed weights of a direction: from prepare, or packed now.
RnnParams::Packs packs_of(const RnnParams& p, const Step& step, const RunContext& context, int64_t d) {
  RnnParams::Packs packs = p.packs[size_t(d)];
  const int64_t rows = p.gates * p.hidden;
  if (packs.w == nullptr) {
    float* to = scratch_at<float>(context, p.pack_w);
    pack_w(p, context.input<float>(step, 1) + d * rows * p.input, to);
    packs.w = to;
  }
  if (packs.r == nullptr) {
    const float* r = context.input<float>(step, 2) + d * rows * p.hidden;
    float *to = scratch_at<float>(context, p.pack_r), *to_new = scratch_at<float>(context, p.pack_r_new);
    pack_r(p, r, to);
    packs.r = to;
    if (p.gates == 3) pack_r_new(p, r, to_new);
    packs.r_new = to_new;
  }
  return packs;
}

Status run_rnn(const Step& step, const RunContext& context) {
  const auto& p = step.params_as<RnnParams>();
  const bool lstm = p.gates == 4;
  const int64_t biases = 2 * p.gates * p.hidden;
  const int32_t* lengths = context.input<int32_t>(step, 4);
  LQ_RETURN_IF_ERROR(check_lengths(p, lengths));
  const float* bias = context.input<float>(step, 3);
  const float* peepholes = lstm ? context.input<float>(step, 7) : nullptr;
  float* gates = scratch_at<float>(context, p.gate_values);
  float* start = scratch_at<float>(context, p.start);
  for (int64_t d = 0; d < p.directions; ++d) {
    const RnnParams::Packs packs = packs_of(p, step, context, d);
    RnnCell cell{p, context, p.activations.data() + d * (lstm ? 3 : 2), packs};
    cell.bias = bias ? bias + d * biases : nullptr;
    cell.peepholes = peepholes ? peepholes + d * 3 * p.hidden : nullptr;
    cell.h = scratch_at<float>(context, p.state_h);
    cell.c = scratch_at<float>(context, p.state_c);
    cell.reset_h = scratch_at<float>(context, p.reset_h);
    cell.new_h = scratch_at<float>(context, p.new_h);
    load_state(p, context.input<float>(step, 5), d, cell.h);
    if (lstm) load_state(p, context.input<float>(step, 6), d, cell.c);
    fill_start(p, cell.bias, start);
    const int64_t n = p.gates * p.hidden;
    rnn_product(p, context, {context.input<float>(step, 0), p.input, packs.w, p.input, n, start, 0, gates, p.row},
                p.sequence * p.batch);
    if (p.linear_before_reset) {  // `start` is free now: it becomes Rb of the h gate
      std::memset(start, 0, size_t(p.row) * sizeof(float));
      if (cell.bias) std::memcpy(start, cell.bias + n + 2 * p.hidden, size_t(p.hidden) * sizeof(float));
      cell.new_start = start;
    }
    run_direction(cell, lstm ? &lstm_step : &gru_step, d, lengths, gates, context.output<float>(step, 0));
    store_state(p, cell.h, d, context.output<float>(step, 1));
    if (lstm) store_state(p, cell.c, d, context.output<float>(step, 2));
  }
  return {};
}

// Packs constant weights once for all sessions; others get room in scratch.
Status prepare_packs(OpPrepare& p, RnnParams& params, const std::function<size_t(size_t)>& reserve) {
  params.packs.resize(size_t(params.directions));
  const int64_t rows = params.gates * params.hidden;
  const size_t w_bytes = panel_bytes(params.input, rows),
               r_bytes = panel_bytes(params.hidden, params.r_gates() * params.hidden);
  const size_t new_bytes = params.gates == 3 ? panel_bytes(params.hidden, params.hidden) : 0;
  const Tensor &w = p.input(1), &r = p.input(2);
  for (int64_t d = 0; d < params.directions; ++d) {
    RnnParams::Packs& packs = params.packs[size_t(d)];
    const std::string suffix = std::to_string(d);
    if (w.is_constant()) {
      const float* from = w.data.as<float>() + d * rows * params.input;
      LQ_ASSIGN_OR_RETURN(const void* packed, p.packs.get(p.pack_key(("w" + suffix).c_str()), w_bytes, [&](void* to) {
        pack_w(params, from, static_cast<float*>(to));
      }));
      packs.w = static_cast<const float*>(packed);
    }
    if (!r.is_constant()) continue;
    const float* from = r.data.as<float>() + d * rows * params.hidden;
    LQ_ASSIGN_OR_RETURN(const void* packed, p.packs.get(p.pack_key(("r" + suffix).c_str()), r_bytes, [&](void* to) {
      pack_r(params, from, static_cast<float*>(to));
    }));
    packs.r = static_cast<const float*>(packed);
    if (params.gates != 3) continue;
    LQ_ASSIGN_OR_RETURN(const void* packed_new,
                        p.packs.get(p.pack_key(("n" + suffix).c_str()), new_bytes,
                                    [&](void* to) { pack_r_new(params, from, static_cast<float*>(to)); }));
    packs.r_new = static_cast<const float*>(packed_new);
  }
  if (!w.is_constant()) params.pack_w = reserve(w_bytes);
  if (!r.is_constant()) {
    params.pack_r = reserve(r_bytes);
    params.pack_r_new = reserve(new_bytes);
  }
  return {};
}

Status prepare_rnn(OpPrepare& p) {
  const auto& attrs = attrs_as<schema::RnnAttrsT>(p.node);
  const bool lstm = p.node.op == Op::LSTM;
  for (size_t i = 0; i < p.node.inputs.size(); ++i) {
    const DType wanted = i == 4 ? DType::Int32 : DType::Float32;
    if (p.has_input(i) && p.input(i).dtype != wanted) return unsupported("needs float32 data and int32 sequence_lens");
  }
  RnnParams& params = p.make_params<RnnParams>();
  const Shape &x = p.input(0).shape, &r = p.input(2).shape;
  params.gemm = find_kernel("gemm_f32", p.isa);
  if (params.gemm == nullptr) return internal_error("this build has no gemm_f32 kernel");
  params.gates = lstm ? 4 : 3;
  params.batch_first = attrs.batch_first;
  params.sequence = x[attrs.batch_first ? 1 : 0];
  params.batch = x[attrs.batch_first ? 0 : 1];
  params.input = x[2];
  params.hidden = r[2];
  params.directions = attrs.direction == schema::RnnDirection::Bidirectional ? 2 : 1;
  params.reverse_only = attrs.direction == schema::RnnDirection::Reverse;
  params.linear_before_reset = !lstm && attrs.linear_before_reset;
  params.input_forget = lstm && attrs.input_forget;
  params.clip = attrs.clip;
  // The last panel of a row may start inside the h gate, so a row has a panel to spare.
  params.row = (panel_count(params.gates * params.hidden) + 1) * kPanelWidth;
  LQ_ASSIGN_OR_RETURN(params.activations, rnn_activations(attrs,
                                                          lstm ? std::vector<std::string>{"sigmoid", "tanh", "tanh"}
                                                               : std::vector<std::string>{"sigmoid", "tanh"},
                                                          size_t(params.directions)));
  int64_t rows = 0, floats = 0;
  if (__builtin_mul_overflow(params.sequence, params.batch, &rows) ||
      __builtin_mul_overflow(rows, params.row, &floats) || floats > kMaxScratchElements) {
    return unsupported("the gate values of all time steps do not fit in memory");
  }
  size_t& scratch = p.step.scratch_bytes;
  const auto reserve = [&scratch](size_t bytes) {
    const size_t at = scratch;
    scratch += align_up(bytes);
    return at;
  };
  const size_t state = size_t(params.batch * params.hidden) * sizeof(float);
  params.gate_values = reserve(size_t(floats) * sizeof(float));
  params.start = reserve(size_t(params.row) * sizeof(float));
  params.state_h = reserve(state);
  if (lstm) {
    params.state_c = reserve(state);
  } else {
    params.reset_h = reserve(state);
    params.new_h = reserve(size_t(params.batch * panel_count(params.hidden) * kPanelWidth) * sizeof(float));
  }
  LQ_RETURN_IF_ERROR(prepare_packs(p, params, reserve));
  params.kernel_name = std::string(lstm ? "lstm_f32" : "gru_f32") + std::strstr(params.gemm->name, "__");
  p.set(params.kernel_name.c_str(), params.gemm->isa, &run_rnn);
  return {};
}

const OpRow kRows[] = {{Op::LSTM, &prepare_rnn}, {Op::GRU, &prepare_rnn}};

}  // namespace

const OpRowTable kRnnRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
