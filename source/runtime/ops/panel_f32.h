// Float matrix products inside operators that are not products themselves (LSTM, GRU, Einsum), by the gemm_f32 panel
// kernels: y[m, n] = start[m, n] + Σ_k x[m, k] · b[k, n], ascending k, one fused multiply-add each, + 0.0f at the end.
// Splitting a chain in two calls gives the same bits: the second starts from what the first stored.
#pragma once
#include "kernels/conv_kernels.h"
#include "kernels/registry.h"
#include "runtime/op.h"

namespace lq {

inline constexpr int kPanelWidth = 16;

inline int64_t panel_count(int64_t n) { return (n + kPanelWidth - 1) / kPanelWidth; }
inline size_t panel_bytes(int64_t k, int64_t n) { return size_t(panel_count(n) * k * kPanelWidth) * sizeof(float); }

/// Packs panel `panel` of b (element b[k · stride_k + n · stride_n]) into to[k][16]; lanes >= n are 0.
void pack_panel(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, int64_t panel, float* to);
/// All panels, one after another.
void pack_panels(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* to);

struct PanelProduct {
  const float* x = nullptr;  // rows x_row apart
  int64_t x_row = 0;
  const float* packed = nullptr;  // all panels of b
  int64_t k = 0, n = 0;
  const float* start = nullptr;  // padded to whole panels; rows start_row apart; may be y
  int64_t start_row = 0;
  float* y = nullptr;  // rows y_row apart
  int64_t y_row = 0;
};
/// Rows [0, rows) of panels [panel_begin, panel_end).
void run_panels(const KernelRow& kernel, const PanelProduct& product, int64_t rows, int64_t panel_begin,
                int64_t panel_end);

}  // namespace lq
