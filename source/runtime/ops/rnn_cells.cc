// The LSTM and GRU cells: one time step after x·W.
#include "numerics/quantize.h"
#include "runtime/ops/rnn.h"

namespace lq {
namespace {

float clipped(const RnnParams& params, float v) {
  return params.clip > 0 ? clamp_nan_to_low(v, -params.clip, params.clip) : v;
}

}  // namespace

void rnn_product(const RnnParams& params, const RunContext& context, const PanelProduct& product, int64_t rows) {
  const int64_t macs = std::max<int64_t>(1, rows * product.k * kPanelWidth);
  parallel(context, panel_count(product.n), std::max<int64_t>(1, 65536 / macs),
           [&](int64_t begin, int64_t end, int) { run_panels(*params.gemm, product, rows, begin, end); });
}

void lstm_step(const RnnCell& cell, float* gates, int64_t gate_stride, int64_t first, int64_t count) {
  const RnnParams& params = cell.params;
  const int64_t hidden = params.hidden;
  float* h = cell.h + first * hidden;
  float* c = cell.c + first * hidden;
  rnn_product(params, cell.context,
              {h, hidden, cell.packs.r, hidden, 4 * hidden, gates, gate_stride, gates, gate_stride}, count);
  const RnnActivation &f = cell.activations[0], &g = cell.activations[1], &out = cell.activations[2];
  for (int64_t b = 0; b < count; ++b, h += hidden, c += hidden) {
    const float* row = gates + b * gate_stride;
    for (int64_t j = 0; j < hidden; ++j) {
      float in_gate = row[j], out_gate = row[hidden + j], forget_gate = row[2 * hidden + j];
      if (cell.peepholes) {
        in_gate = in_gate + cell.peepholes[j] * c[j];
        forget_gate = forget_gate + cell.peepholes[2 * hidden + j] * c[j];
      }
      in_gate = f(clipped(params, in_gate));
      forget_gate = params.input_forget ? 1.0f - in_gate : f(clipped(params, forget_gate));
      const float candidate = g(clipped(params, row[3 * hidden + j]));
      const float state = forget_gate * c[j] + in_gate * candidate;
      if (cell.peepholes) out_gate = out_gate + cell.peepholes[hidden + j] * state;
      out_gate = f(clipped(params, out_gate));
      c[j] = state;
      h[j] = out_gate * out(state);
    }
  }
}

void gru_step(const RnnCell& cell, float* gates, int64_t gate_stride, int64_t first, int64_t count) {
  const RnnParams& params = cell.params;
  const int64_t hidden = params.hidden, padded = panel_count(hidden) * kPanelWidth;
  float* h = cell.h + first * hidden;
  rnn_product(params, cell.context,
              {h, hidden, cell.packs.r, hidden, 2 * hidden, gates, gate_stride, gates, gate_stride}, count);
  const RnnActivation &f = cell.activations[0], &g = cell.activations[1];
  for (int64_t b = 0; b < count; ++b) {
    float* row = gates + b * gate_stride;
    for (int64_t j = 0; j < 2 * hidden; ++j) row[j] = f(clipped(params, row[j]));
    for (int64_t j = 0; j < hidden; ++j) cell.reset_h[b * hidden + j] = row[hidden + j] * h[b * hidden + j];
  }
  if (params.linear_before_reset) {
    rnn_product(params, cell.context,
                {h, hidden, cell.packs.r_new, hidden, hidden, cell.new_start, 0, cell.new_h, padded}, count);
  } else {
    rnn_product(
        params, cell.context,
        {cell.reset_h, hidden, cell.packs.r_new, hidden, hidden, gates + 2 * hidden, gate_stride, cell.new_h, padded},
        count);
  }
  for (int64_t b = 0; b < count; ++b, h += hidden) {
    const float* row = gates + b * gate_stride;
    const float* fresh = cell.new_h + b * padded;
    for (int64_t j = 0; j < hidden; ++j) {
      const float pre = params.linear_before_reset ? row[2 * hidden + j] + row[hidden + j] * fresh[j] : fresh[j];
      const float z = row[j];
      h[j] = (1.0f - z) * g(clipped(params, pre)) + z * h[j];
    }
  }
}

}  // namespace lq
