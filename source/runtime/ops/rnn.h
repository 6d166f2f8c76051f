// LSTM and GRU in float32. Pre-activations of a gate are one chain of fused multiply-adds: from Wb + Rb, x·W ascending,
// then h·R ascending (GRU with linear_before_reset: the reset gate scales a second chain that starts from Rb). The x·W
// part of all time steps is one matrix product; each step then continues it with h·R. The rest is single float
// operations.
#pragma once
#include "runtime/ops/dtype_dispatch.h"
#include "runtime/ops/panel_f32.h"
#include "runtime/ops/rnn_activation.h"
#include "runtime/ops/strided.h"

namespace lq {

struct RnnParams : NamedParams {
  const KernelRow* gemm = nullptr;
  int64_t gates = 4;  // 4: LSTM (i, o, f, c); 3: GRU (z, r, h)
  int64_t sequence = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  int64_t row = 0;  // floats of a row of gate values: gates·hidden and room for whole panels
  bool batch_first = false, reverse_only = false, linear_before_reset = false, input_forget = false;
  float clip = 0;                          // 0: none
  std::vector<RnnActivation> activations;  // by direction: f, g[, h]

  // Packed weights of each direction; nullptr when W or R is no constant and is packed into scratch in every run.
  struct Packs {
    const float* w = nullptr;      // [input] × gates·hidden
    const float* r = nullptr;      // [hidden] × (LSTM: all gates; GRU: z and r)
    const float* r_new = nullptr;  // GRU: [hidden] × the h gate
  };
  std::vector<Packs> packs;
  int64_t r_gates() const { return gates == 4 ? 4 : 2; }

  // Scratch, byte offsets
  size_t gate_values = 0, start = 0, state_h = 0, state_c = 0, reset_h = 0, new_h = 0, pack_w = 0, pack_r = 0,
         pack_r_new = 0;

  int64_t batch_stride(int64_t width) const { return batch_first ? sequence * width : width; }  // of x and gate rows
  int64_t time_stride(int64_t width) const { return batch_first ? width : batch * width; }
};

/// What a cell needs for one time step of `count` batch entries starting at `first`; rows of gates are gate_stride
/// apart.
struct RnnCell {
  const RnnParams& params;
  const RunContext& context;
  const RnnActivation* activations;  // of this direction
  const RnnParams::Packs& packs;
  const float* bias = nullptr;                 // [2 · gates · hidden] of this direction, or nullptr
  const float* peepholes = nullptr;            // LSTM: [3 · hidden] (i, o, f), or nullptr
  float *h = nullptr, *c = nullptr;            // states [batch, hidden]
  float *reset_h = nullptr, *new_h = nullptr;  // GRU: r∘h and h·R of the h gate, rows of whole panels
  const float* new_start = nullptr;            // GRU with linear_before_reset: Rb of the h gate, padded to panels
};

/// gates += h·R for the rows given, then the cell: updates h (and c).
void lstm_step(const RnnCell& cell, float* gates, int64_t gate_stride, int64_t first, int64_t count);
void gru_step(const RnnCell& cell, float* gates, int64_t gate_stride, int64_t first, int64_t count);

/// A product on the pool, split by panels.
void rnn_product(const RnnParams& params, const RunContext& context, const PanelProduct& product, int64_t rows);

}  // namespace lq
