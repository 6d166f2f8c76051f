// Exact integer Winograd, scalar twin: the matrices as they stand in docs/NUMERICS.md, without shortcuts.
#include "kernels/scalar/conv_store.h"
#include "kernels/winograd_kernels.h"

namespace lq::scalar {
namespace {

/// The matrices of F(m × m, 3 × 3). A is scaled so that each 1-D result is scale[i] times the true one.
struct Matrices {
  int size;              // m + 2
  int input[6][6];       // Bᵀ
  int weights[6][3];     // G, integer
  int output[4][6];      // Aᵀ
  int shift[4];          // scale[i] = odd · 2^shift[i]
  uint32_t odd_inverse;  // odd² · odd_inverse = 1 modulo 2^32
};

constexpr Matrices kF23 = {4,
                           {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                           {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
                           {{1, 1, 1, 0}, {0, 1, -1, -1}},
                           {1, 1},
                           1};
constexpr Matrices kF43 = {6,
                           {{4, 0, -5, 0, 1, 0},
                            {0, -4, -4, 1, 1, 0},
                            {0, 4, -4, -1, 1, 0},
                            {0, -2, -1, 2, 1, 0},
                            {0, 2, -1, -2, 1, 0},
                            {0, 4, 0, -5, 0, 1}},
                           {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 1}},
                           {{6, -4, -4, 1, 1, 0}, {0, -2, 2, 1, -1, 0}, {0, -1, -1, 1, 1, 0}, {0, -1, 1, 2, -2, 6}},
                           {3, 2, 1, 1},
                           954437177u};

inline const Matrices& matrices(int m) { return m == 2 ? kF23 : kF43; }

}  // namespace

void winograd_input(const WinogradInputArgs& a) {
  const Matrices& f = matrices(a.m);
  for (int t = 0; t < a.tiles; ++t) {
    for (int c = 0; c < kBlock; ++c) {
      int32_t d[6][6], half[6][6];
      for (int i = 0; i < f.size; ++i) {
        for (int j = 0; j < f.size; ++j) {
          const int row = a.first_row + i, col = a.first_col + t * a.m + j;
          const bool inside = row >= 0 && row < a.in_h && col >= 0 && col < a.in_w;
          d[i][j] = inside ? a.x[(ptrdiff_t(row) * a.in_w + col) * kBlock + c] - a.zero_point : 0;
        }
      }
      for (int i = 0; i < f.size; ++i) {
        for (int j = 0; j < f.size; ++j) {
          half[i][j] = 0;
          for (int k = 0; k < f.size; ++k) half[i][j] += f.input[i][k] * d[k][j];
        }
      }
      for (int i = 0; i < f.size; ++i) {
        for (int j = 0; j < f.size; ++j) {
          int32_t v = 0;
          for (int k = 0; k < f.size; ++k) v += half[i][k] * f.input[j][k];
          a.v[(i * f.size + j) * a.v_position + 8 * t + c] = int16_t(v);
        }
      }
    }
  }
}

void winograd_weights(const WinogradWeightsArgs& a) {
  const Matrices& f = matrices(a.m);
  constexpr int kLanes = 2 * kWinogradPanel;
  for (int pair = 0; pair < a.pairs; ++pair) {
    for (int l = 0; l < kLanes; ++l) {
      const int8_t* g = a.w + ptrdiff_t(pair) * kWinogradPairBytes + l;
      for (int i = 0; i < f.size; ++i) {
        for (int j = 0; j < f.size; ++j) {
          int32_t u = 0;
          for (int r = 0; r < 3; ++r) {
            for (int s = 0; s < 3; ++s) u += f.weights[i][r] * f.weights[j][s] * g[(3 * r + s) * kLanes];
          }
          a.u[(i * f.size + j) * a.u_position + ptrdiff_t(pair) * kLanes + l] = int16_t(u);
        }
      }
    }
  }
}

namespace {

/// apart: weights of form s8x1.
void product(const WinogradProductArgs& a, int positions, int panel, bool apart) {
  for (int p = 0; p < positions; ++p) {
    for (int t = 0; t < a.tiles; ++t) {
      int32_t* sum = a.sum + panel * a.sum_panel + p * a.sum_position + kWinogradPanel * t;
      for (int l = 0; l < kWinogradPanel; ++l) {
        uint32_t acc = a.accumulate ? uint32_t(sum[l]) : 0u;
        for (int k = 0; k < 2 * a.pairs; ++k) {
          const int32_t v = a.v[p * a.v_position + k / 8 * a.v_block + 8 * t + k % 8];
          const ptrdiff_t at = apart ? k * kWinogradPanel + l : k / 2 * 2 * kWinogradPanel + 2 * l + k % 2;
          const int32_t u = a.u[panel * a.u_panel + p * a.u_position + at];
          acc += uint32_t(v * u);
        }
        sum[l] = int32_t(acc);
      }
    }
  }
}

}  // namespace

void winograd23_s8(const WinogradProductArgs& a) {
  for (int i = 0; i < a.panels; ++i) product(a, winograd_positions(2), i, false);
}
void winograd43_s8(const WinogradProductArgs& a) {
  for (int i = 0; i < a.panels; ++i) product(a, winograd_positions(4), i, false);
}
void winograd23_s8x1(const WinogradProductArgs& a) {
  for (int i = 0; i < a.panels; ++i) product(a, winograd_positions(2), i, true);
}
void winograd43_s8x1(const WinogradProductArgs& a) {
  for (int i = 0; i < a.panels; ++i) product(a, winograd_positions(4), i, true);
}

void winograd_output(const WinogradOutputArgs& a) {
  const Matrices& f = matrices(a.m);
  PanelGeometry g{};
  g.lanes = a.lanes, g.y = a.y, g.y_block = a.y_block, g.y_blocked = true;
  for (int r = 0; r < a.rows; ++r) {
    for (int c = 0; c < a.cols; ++c) {
      const int i = r, j = c % a.m;
      const int32_t* sum = a.sum + c / a.m * kWinogradPanel;
      int32_t acc[kWinogradPanel];
      for (int l = 0; l < kWinogradPanel; ++l) {
        uint32_t scaled = 0;
        for (int s = 0; s < f.size; ++s) {
          for (int t = 0; t < f.size; ++t)
            scaled += uint32_t(f.output[i][s] * f.output[j][t]) * uint32_t(sum[(s * f.size + t) * a.sum_position + l]);
        }
        const int32_t exact = int32_t(scaled * f.odd_inverse) >> (f.shift[i] + f.shift[j]);
        acc[l] = int32_t(uint32_t(exact) + uint32_t(a.epilogue.bias[l]));
      }
      store_s8(g, a.epilogue, acc, 0, r * a.y_row + c * kBlock);
      if (a.lanes > kBlock) store_s8(g, a.epilogue, acc + kBlock, 1, r * a.y_row + c * kBlock);
    }
  }
}

}  // namespace lq::scalar
