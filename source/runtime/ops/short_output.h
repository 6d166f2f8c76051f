// int16 results of product kernels, which write int8 or float: R's clamp comes with the float output, and what remains
// is rounding. It is done a few rows at a time, while they are in the first-level cache.
#pragma once
#include <algorithm>

#include "base/memory.h"
#include "kernels/s16_kernels.h"
#include "runtime/ops/product_quant.h"

namespace lq {

struct ShortOutput {
  RoundS16Fn round = nullptr;  // nullptr: y is not int16
  int64_t width = 0;           // most channels of a panel
  explicit operator bool() const { return round != nullptr; }
  static ShortOutput to(const Tensor& y, int64_t panel_width, Isa isa) {
    return {y.dtype == DType::Int16 ? s16_kernels(isa).round.run : nullptr, panel_width};
  }

  /// Rows of `columns` pixels to compute at once.
  int64_t rows_at_once(int64_t columns) const {
    constexpr int64_t kBytes = 16 << 10;
    return std::max<int64_t>(1, kBytes / std::max<int64_t>(1, columns * width * int64_t(sizeof(float))));
  }
  /// Bytes of the buffer for items of `rows` rows; 0 if y is not int16.
  size_t buffer_bytes(int64_t rows, int64_t columns) const {
    if (round == nullptr) return 0;
    return align_up(size_t(std::min(rows, rows_at_once(columns)) * columns * width) * sizeof(float));
  }

  /// Lets kernel(geometry, first row) compute all rows of a blocked output whose geometry has its place in the int16
  /// tensor.
  template <typename Kernel>
  void run_blocked(const PanelGeometry& whole, float* buffer, Kernel&& kernel) const {
    const int64_t at_once = rows_at_once(whole.cols);
    for (int64_t row = 0; row < whole.rows; row += at_once) {
      PanelGeometry g = whole;
      g.rows = int32_t(std::min<int64_t>(at_once, whole.rows - row));
      g.y = buffer;
      g.y_col = kBlock, g.y_row = int64_t(g.cols) * kBlock, g.y_block = g.rows * g.y_row;
      kernel(g, row);
      for (int64_t b = 0; b * kBlock < g.lanes; ++b) {
        int16_t* y = static_cast<int16_t*>(whole.y) + b * whole.y_block + row * whole.y_row;
        round_rows(whole, buffer + b * g.y_block, y, g.rows);
      }
    }
  }

  /// The same for a linear output of one row, whose columns are the rows of a matrix: kernel(geometry, first column).
  template <typename Kernel>
  void run_linear(const PanelGeometry& whole, float* buffer, Kernel&& kernel) const {
    const int64_t at_once = rows_at_once(1);
    for (int64_t col = 0; col < whole.cols; col += at_once) {
      PanelGeometry g = whole;
      g.cols = int32_t(std::min<int64_t>(at_once, whole.cols - col));
      g.y = buffer, g.y_col = width;
      kernel(g, col);
      int16_t* y = static_cast<int16_t*>(whole.y) + col * whole.y_col;
      for (int64_t c = 0; c < g.cols; ++c) round(buffer + c * width, y + c * whole.y_col, whole.lanes);
    }
  }

 private:
  void round_rows(const PanelGeometry& whole, const float* x, int16_t* y, int64_t rows) const {
    const int64_t line = int64_t(whole.cols) * kBlock;
    if (whole.y_col == kBlock && whole.y_row == line) return round(x, y, rows * line);
    for (int64_t r = 0; r < rows; ++r, x += line, y += whole.y_row) {
      if (whole.y_col == kBlock) {
        round(x, y, line);
      } else {
        for (int64_t c = 0; c < whole.cols; ++c) round(x + c * kBlock, y + c * whole.y_col, kBlock);
      }
    }
  }
};

}  // namespace lq
