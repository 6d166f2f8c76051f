#include "runtime/ops/panel_f32.h"

#include <algorithm>

namespace lq {

void pack_panel(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, int64_t panel, float* to) {
  const int64_t first = panel * kPanelWidth, lanes = std::min<int64_t>(kPanelWidth, n - first);
  for (int64_t i = 0; i < k; ++i, to += kPanelWidth) {
    const float* row = b + i * stride_k + first * stride_n;
    for (int64_t l = 0; l < lanes; ++l) to[l] = row[l * stride_n];
    for (int64_t l = lanes; l < kPanelWidth; ++l) to[l] = 0;
  }
}

void pack_panels(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, float* to) {
  for (int64_t panel = 0; panel < panel_count(n); ++panel) {
    pack_panel(b, stride_k, stride_n, k, n, panel, to + panel * k * kPanelWidth);
  }
}

void run_panels(const KernelRow& kernel, const PanelProduct& product, int64_t rows, int64_t panel_begin,
                int64_t panel_end) {
  static constexpr ptrdiff_t kNoTap[1] = {0};
  constexpr int64_t kMaxRows = int64_t(1) << 20;  // rows are an int32 in the kernel's arguments
  const ConvF32Fn fn = reinterpret_cast<ConvF32Fn>(kernel.fn);
  for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
    for (int64_t row = 0; row < rows; row += kMaxRows) {
      const int64_t column = panel * kPanelWidth;
      ConvF32Args args{};
      args.geometry.x_block = kBlock;
      args.geometry.x_row = product.x_row;
      args.geometry.tap = kNoTap;
      args.geometry.taps = 1;
      args.geometry.blocks = int32_t(product.k / kBlock);
      args.geometry.tail = int32_t(product.k % kBlock);
      args.geometry.width = kPanelWidth;
      args.geometry.lanes = int32_t(std::min<int64_t>(kPanelWidth, product.n - column));
      args.geometry.rows = int32_t(std::min(kMaxRows, rows - row));
      args.geometry.cols = 1;
      args.geometry.y = product.y + row * product.y_row + column;
      args.geometry.y_block = kBlock;
      args.geometry.y_row = product.y_row;
      args.x = product.x + row * product.x_row;
      args.w = product.packed + panel * product.k * kPanelWidth;
      args.start = product.start + row * product.start_row + column;
      args.start_row = product.start_row;
      fn(args);
    }
  }
}

}  // namespace lq
