// Gemm and MatMul through the panel kernels: an item is a strip of rows of one a, times one panel of b.
#include <algorithm>
#include <cstring>

#include "runtime/ops/conv_run.h"
#include "runtime/ops/matmul_plan.h"

namespace lq {
namespace {

struct Item {
  int64_t batch, row, rows, tile;
  int64_t strip_key;
};
Item item_at(const MatMulParams& p, int64_t index) {
  const int64_t tiles = p.layout.tiles(), key = index / tiles, row = key % p.strips * p.rows;
  return {key / p.strips, row, std::min(p.rows, p.shape.m - row), index % tiles, key};
}
int64_t item_count(const MatMulParams& p) { return p.shape.batches() * p.strips * p.layout.tiles(); }

/// Rows of the strip are the kernel's columns; x and y are set by the caller.
PanelGeometry panel_geometry(const MatMulParams& p, const Item& item) {
  static constexpr ptrdiff_t kOneTap[1] = {0};
  PanelGeometry g{};
  g.x_block = kBlock;
  g.tap = kOneTap;
  g.taps = 1;
  g.blocks = int32_t(p.shape.k / kBlock);
  g.tail = int32_t(p.shape.k % kBlock);
  g.width = int32_t(p.layout.width(item.tile));
  g.lanes = int32_t(p.layout.lanes(item.tile));
  g.rows = 1;
  g.cols = int32_t(item.rows);
  g.y_col = p.shape.n;
  return g;
}
template <typename T>
T* set_output(PanelGeometry& g, const MatMulParams& p, const Item& item, T* y) {
  T* first = y + (item.batch * p.shape.m + item.row) * p.shape.n + item.tile * p.layout.panel;
  g.y = first, g.y_block = kBlock;
  return first;
}

/// Packs every distinct b of this run, tile by tile, on all workers.
template <typename F>
void pack_all(const MatMulParams& p, ThreadPool& pool, F&& pack_tile) {
  const int64_t tiles = p.layout.tiles(), count = int64_t(p.shape.b_offset.size()) * tiles;
  const auto work = [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) pack_tile(i / tiles, i % tiles);
  };
  pool.parallel_for(count, grain_for(p.layout.rows() * p.layout.panel), work);
}

/// Rows of a as an integer form has them, each padded to whole blocks (by what meets weights 0).
/// convert(in, out, pixels) takes 8 values a pixel.
template <typename Source, typename Element, typename Convert>
void fill_rows(const MatMulParams& p, const Item& item, const Source* a, Element subtracted, Convert&& convert,
               Element* out) {
  const MatMulShape& s = p.shape;
  const int64_t padded = (s.k + kBlock - 1) / kBlock * kBlock;
  for (int64_t r = 0; r < item.rows; ++r, out += padded) {
    const Source* row = a + s.a_offset[size_t(item.batch)] + (item.row + r) * s.a_row;
    int64_t k = 0;
    if (s.a_col == 1) {
      convert(row, out, s.k / kBlock);
      k = s.k / kBlock * kBlock;
    }
    for (; k < s.k; ++k) out[k] = Element(row[k * s.a_col] - subtracted);
    for (; k < padded; ++k) out[k] = 0;
  }
}

/// Start values of the item: c where the sum begins with it, else 0. One row if c is the same in all.
void fill_start(const MatMulParams& p, const Item& item, const float* c, float* start) {
  const bool used = p.addend.present && p.addend.plain();
  const int64_t rows = used && p.addend.row != 0 ? item.rows : 1, lanes = p.layout.lanes(item.tile);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = used ? c + (item.row + r) * p.addend.row + item.tile * p.layout.panel * p.addend.col : nullptr;
    for (int64_t l = 0; l < 16; ++l) start[r * 16 + l] = used && l < lanes ? row[l * p.addend.col] : 0.0f;
  }
}

/// y = clamp((alpha · acc + beta · c) + 0.0f) for Gemm whose alpha or beta is not 1: single operations.
void scale_and_add(const MatMulParams& p, const Item& item, const float* c, float* y) {
  const GemmAddend& g = p.addend;
  for (int64_t r = 0; r < item.rows; ++r, y += p.shape.n) {
    for (int64_t l = 0; l < p.layout.lanes(item.tile); ++l) {
      float v = g.alpha * y[l];
      if (g.present) {
        const float scaled = g.beta * c[(item.row + r) * g.row + (item.tile * p.layout.panel + l) * g.col];
        v = v + scaled;
      }
      v = v + 0.0f;
      if (p.clamp.enabled) {
        v = v > p.clamp.low ? v : p.clamp.low;
        v = v < p.clamp.high ? v : p.clamp.high;
      }
      y[l] = v;
    }
  }
}

}  // namespace

namespace {

/// The item's operands but x, w and y.
template <typename Args>
void set_item(Args& args, const MatMulParams& p, const Item& item) {
  args.geometry.x_col = (p.shape.k + kBlock - 1) / kBlock * kBlock;
  args.epilogue.bias = p.bias.data() + item.tile * p.layout.panel;
  args.epilogue.multiplier = p.multiplier.data() + item.tile * p.layout.panel;
}

/// Runs the kernel for an item whose operands are set, into y of the output's type. own: the worker's scratch.
template <typename Args, typename Kernel>
void run_panel(Args& args, const MatMulParams& p, const Item& item, const Step& step, const RunContext& context,
               uint8_t* own, Kernel&& kernel) {
  if (p.short_output) {
    set_output(args.geometry, p, item, context.output<int16_t>(step, 0));
    const PanelGeometry whole = args.geometry;
    const auto x = args.x;
    float* results = reinterpret_cast<float*>(own + p.a_bytes);
    return p.short_output.run_linear(whole, results, [&](const PanelGeometry& columns, int64_t first) {
      args.geometry = columns;
      args.x = x + first * whole.x_col;
      kernel(args);
    });
  }
  if (p.float_output) {
    set_output(args.geometry, p, item, context.output<float>(step, 0));
  } else {
    set_output(args.geometry, p, item, context.output<int8_t>(step, 0));
  }
  kernel(args);
}

int64_t item_macs(const MatMulParams& p) { return p.rows * p.shape.k * p.layout.panel; }

}  // namespace

namespace {

/// convert(in, out, pixels): eight values of a a pixel, as int16 without zero point.
template <typename Source, typename Convert>
Status run_s16(const Step& step, const RunContext& context, Convert&& convert) {
  const MatMulParams& p = step.params_as<MatMulParams>();
  const Source* a = context.input<Source>(step, 0);
  const int8_t* b = context.input<int8_t>(step, 1);
  const int64_t matrix = p.layout.matrix_elements();
  const int16_t* packed = static_cast<const int16_t*>(p.packed);
  if (packed == nullptr) {
    int16_t* out = reinterpret_cast<int16_t*>(context.scratch);
    pack_all(p, *context.pool, [&](int64_t i, int64_t tile) {
      pack_tile_s16(p.shape, p.layout, b + p.shape.b_offset[size_t(i)], p.zero_point_b, tile,
                    out + i * matrix + p.layout.offset(tile));
    });
    packed = out;
  }
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    uint8_t* own = context.scratch + p.packed_bytes + size_t(worker) * p.worker_bytes;
    int16_t* rows = reinterpret_cast<int16_t*>(own);
    int64_t filled = -1;
    for (int64_t i = begin; i < end; ++i) {
      const Item item = item_at(p, i);
      if (filled != item.strip_key) fill_rows(p, item, a, int16_t(p.zero_point_a), convert, rows);
      filled = item.strip_key;
      ConvS8Args args{panel_geometry(p, item), rows, nullptr, p.epilogue};
      args.w = packed + p.shape.b_index[size_t(item.batch)] * matrix + p.layout.offset(item.tile);
      set_item(args, p, item);
      run_panel(args, p, item, step, context, own, [&](const ConvS8Args& panel) { p.gemm_s8(panel); });
    }
  };
  context.pool->parallel_for(item_count(p), grain_for(item_macs(p)), work);
  return {};
}

}  // namespace

Status run_matmul_s16(const Step& step, const RunContext& context) {
  const MatMulParams& p = step.params_as<MatMulParams>();
  return run_s16<int8_t>(step, context, [&](const int8_t* in, int16_t* out, int64_t pixels) {
    p.widen({in, kBlock, out, pixels, p.zero_point_a});
  });
}

Status run_matmul_s16_of_s16(const Step& step, const RunContext& context) {
  return run_s16<int16_t>(step, context, [](const int16_t* in, int16_t* out, int64_t pixels) {
    std::memcpy(out, in, size_t(pixels * kBlock) * sizeof(int16_t));
  });
}

namespace {

/// The byte forms; call(args, item) runs the kernel.
template <typename Args, typename Call>
Status run_bytes(const Step& step, const RunContext& context, Call&& call) {
  const MatMulParams& p = step.params_as<MatMulParams>();
  const int8_t* a = context.input<int8_t>(step, 0);
  const int64_t matrix = p.layout.matrix_elements();
  const int8_t* packed = static_cast<const int8_t*>(p.packed);
  const uint8_t offset = uint8_t(byte_offset(p.form));
  const auto convert = [&](const int8_t* in, uint8_t* out, int64_t pixels) {
    if (offset != 0) return p.offset({in, kBlock, out, pixels});
    std::memcpy(out, in, size_t(pixels * kBlock));
  };
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    uint8_t* rows = context.scratch + p.packed_bytes + size_t(worker) * p.worker_bytes;
    int64_t filled = -1;
    for (int64_t i = begin; i < end; ++i) {
      const Item item = item_at(p, i);
      if (filled != item.strip_key) fill_rows(p, item, a, uint8_t(-offset), convert, rows);
      filled = item.strip_key;
      const int64_t matrix_index = p.shape.b_index[size_t(item.batch)];
      Args args{};
      args.geometry = panel_geometry(p, item);
      args.x = rows;
      args.epilogue = p.epilogue;
      args.w = packed + matrix_index * matrix + p.layout.offset(item.tile);
      set_item(args, p, item);
      args.epilogue.bias += matrix_index * p.layout.tiles() * p.layout.panel;
      run_panel(args, p, item, step, context, rows, [&](Args& panel) { call(panel, item); });
    }
  };
  context.pool->parallel_for(item_count(p), grain_for(item_macs(p)), work);
  return {};
}

}  // namespace

Status run_matmul_bytes(const Step& step, const RunContext& context) {
  const MatMulParams& p = step.params_as<MatMulParams>();
  return run_bytes<ConvByteArgs>(step, context, [&](const ConvByteArgs& args, const Item&) { p.gemm_bytes(args); });
}

Status run_matmul_steps(const Step& step, const RunContext& context) {
  const MatMulParams& p = step.params_as<MatMulParams>();
  const int64_t steps = p.layout.rows() / kBlock;
  return run_bytes<ConvStepsArgs>(step, context, [&](ConvStepsArgs& args, const Item& item) {
    const int64_t panel = p.shape.b_index[size_t(item.batch)] * p.layout.tiles() + item.tile;
    const StepCounts& counts = p.step_counts[panel];
    args.at = p.step_at.data() + panel * steps;
    args.twice = counts.twice, args.once = counts.once, args.pairs = counts.pairs;
    p.gemm_steps(args);
  });
}

Status run_matmul_f32(const Step& step, const RunContext& context) {
  const MatMulParams& p = step.params_as<MatMulParams>();
  const MatMulShape& s = p.shape;
  const float *a = context.input<float>(step, 0), *b = context.input<float>(step, 1),
              *c = context.input<float>(step, 2);
  const int64_t matrix = p.layout.matrix_elements();
  const float* packed = static_cast<const float*>(p.packed);
  if (packed == nullptr) {
    float* out = reinterpret_cast<float*>(context.scratch);
    pack_all(p, *context.pool, [&](int64_t i, int64_t tile) {
      pack_tile_f32(s, p.layout, b + s.b_offset[size_t(i)], tile, out + i * matrix + p.layout.offset(tile));
    });
    packed = out;
  }
  const auto work = [&](int64_t begin, int64_t end, int worker) {
    uint8_t* own = context.scratch + p.packed_bytes + size_t(worker) * p.worker_bytes;
    float *rows = reinterpret_cast<float*>(own), *start = reinterpret_cast<float*>(own + p.a_bytes);
    int64_t filled = -1;
    for (int64_t i = begin; i < end; ++i) {
      const Item item = item_at(p, i);
      const float* first = a + s.a_offset[size_t(item.batch)] + item.row * s.a_row;
      ConvF32Args args{panel_geometry(p, item), first, nullptr, start, 0, 0, p.clamp};
      args.geometry.x_col = s.a_row;
      if (s.a_col != 1) {  // transposed a: the kernel wants k to be contiguous
        for (int64_t k = 0; filled != item.strip_key && k < s.k; ++k) {
          for (int64_t r = 0; r < item.rows; ++r) rows[r * s.k + k] = first[r * s.a_row + k * s.a_col];
        }
        filled = item.strip_key;
        args.x = rows;
        args.geometry.x_col = s.k;
      }
      fill_start(p, item, c, start);
      args.start_col = p.addend.present && p.addend.plain() && p.addend.row != 0 ? 16 : 0;
      args.w = packed + s.b_index[size_t(item.batch)] * matrix + p.layout.offset(item.tile);
      if (!p.addend.plain()) args.clamp.enabled = false;
      float* y = set_output(args.geometry, p, item, context.output<float>(step, 0));
      p.gemm_f32(args);
      if (!p.addend.plain()) scale_and_add(p, item, c, y);
    }
  };
  context.pool->parallel_for(item_count(p), grain_for(item_macs(p)), work);
  return {};
}

}  // namespace lq
