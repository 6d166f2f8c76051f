// Gemm and MatMul: float, int8 by constant weights, int8 by int8 activations.
#include <algorithm>

#include "graph/built_ops.h"
#include "kernels/registry.h"
#include "runtime/ops/matmul_plan.h"
#include "runtime/ops/product_quant.h"
#include "runtime/ops/scratch.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

// What a selective build leaves out here check_built has refused before.
constexpr bool kInt8Built = any_form_built<kFormInt8, Op::Gemm, Op::MatMul>(),
               kFloatBuilt = any_form_built<kFormFloat, Op::Gemm, Op::MatMul>();

/// Strips of rows that fit a cache beside a panel of b, and enough of them for the threads.
void plan_rows(MatMulParams& m, int64_t element_bytes, int threads) {
  constexpr int64_t kStripBytes = 128 << 10, kPiecesPerThread = 4;
  constexpr int64_t kRowStep = 12;  // a multiple of every kernel's tile height
  const int64_t row_bytes = std::max<int64_t>(1, m.shape.k * element_bytes);
  int64_t rows = std::max<int64_t>(1, kStripBytes / row_bytes);
  if (threads > 1) {
    const int64_t pieces = std::max<int64_t>(1, m.shape.batches() * m.layout.tiles());
    const int64_t strips = (kPiecesPerThread * threads + pieces - 1) / pieces;
    rows = std::min(rows, (m.shape.m + strips - 1) / strips);
  }
  rows = (rows + kRowStep - 1) / kRowStep * kRowStep;
  m.rows = std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, m.shape.m));
  m.strips = m.shape.m == 0 ? 0 : (m.shape.m + m.rows - 1) / m.rows;
}

/// b packed once if it is a constant, else room for it in scratch.
template <typename Element, typename Source, typename PackTile>
Status pack_b(OpPrepare& p, MatMulParams& m, const char* key, PackTile&& pack_tile) {
  const Tensor& b = p.input(1);
  const int64_t count = int64_t(m.shape.b_offset.size()), matrix = m.layout.matrix_elements();
  const size_t bytes = size_t(count * matrix) * sizeof(Element);
  if (!b.is_constant() || bytes == 0) {
    m.packed_bytes = align_up(bytes);
    return {};
  }
  const Source* source = b.data.as<Source>();
  LQ_ASSIGN_OR_RETURN(m.packed, p.packs.get(p.pack_key(key), bytes, [&](void* out) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t t = 0; t < m.layout.tiles(); ++t) {
        pack_tile(source + m.shape.b_offset[size_t(i)], t,
                  static_cast<Element*>(out) + i * matrix + m.layout.offset(t));
      }
    }
  }));
  return {};
}

/// b of a byte form packed once, behind the sums its bias needs: m.bias becomes one list a distinct b.
Status pack_bytes(OpPrepare& p, MatMulParams& m) {
  const size_t slots = m.bias.size(), count = m.shape.b_offset.size(), panels = count * size_t(m.layout.tiles());
  const bool steps = is_step_form(m.form);
  const int64_t panel_steps = steps ? m.layout.rows() / kBlock : 0;
  const size_t matrix = size_t(m.layout.matrix_elements());
  const size_t kinds = steps ? panels * (sizeof(StepCounts) + size_t(panel_steps) * sizeof(int32_t)) : 0;
  const size_t head = align_up(slots * count * sizeof(int32_t) + kinds);
  const int8_t* source = p.input(1).data.as<int8_t>();
  const auto pack = [&](void* out) {
    auto* counts = reinterpret_cast<StepCounts*>(static_cast<int32_t*>(out) + slots * count);
    int32_t* order = reinterpret_cast<int32_t*>(counts + panels);
    for (size_t i = 0; i < count; ++i) {
      for (int64_t t = 0; t < m.layout.tiles(); ++t) {
        int8_t* panel = static_cast<int8_t*>(out) + head + i * matrix + m.layout.offset(t);
        pack_tile_bytes(m.shape, m.layout, source + m.shape.b_offset[i], t, panel,
                        static_cast<int32_t*>(out) + i * slots + size_t(t * m.layout.panel));
        if (!kStepKernelsBuilt || !steps) continue;
        const SortedSteps sorted = sort_steps(panel, panel_steps, m.layout.width(t), kLargestStepByte);
        *counts++ = sorted.counts;
        order = std::copy(sorted.order.begin(), sorted.order.end(), order);
        std::copy(sorted.w.begin(), sorted.w.end(), panel);
      }
    }
  };
  LQ_ASSIGN_OR_RETURN(const void* packed,
                      p.packs.get(p.pack_key(steps ? "gemm_steps" : "gemm_bytes"), head + count * matrix, pack));
  m.packed = static_cast<const uint8_t*>(packed) + head;
  const int32_t* sums = static_cast<const int32_t*>(packed);
  if (kStepKernelsBuilt && steps) {
    m.step_counts = reinterpret_cast<const StepCounts*>(sums + slots * count);
    const int32_t* order = reinterpret_cast<const int32_t*>(m.step_counts + panels);
    for (size_t i = 0; i < panels * size_t(panel_steps); ++i) m.step_at.push_back(order[i] * int32_t(kBlock));
    StepShares shares;
    for (size_t i = 0; i < panels; ++i) shares.add(m.step_counts[i], m.layout.width(int64_t(i) % m.layout.tiles()));
    p.step.detail = shares.text();
  }
  const std::vector<int32_t> bias = std::move(m.bias);
  m.bias.assign(slots * count, 0);
  for (size_t i = 0; i < m.bias.size(); ++i) {
    const int64_t tile = int64_t(i % slots) / m.layout.panel, lane = int64_t(i % slots) % m.layout.panel;
    if (lane >= m.layout.width(tile)) continue;
    m.bias[i] = int32_t(uint32_t(bias[i % slots]) - uint32_t(m.zero_point_a + byte_offset(m.form)) * uint32_t(sums[i]));
  }
  return {};
}

/// The form of an integer product: bytes for constant weights without zero point where the processor has it.
const KernelRow* choose_kernel(const OpPrepare& p, MatMulParams& m) {
  const Tensor& b = p.input(1);
  const StoredRange x = stored_range(p.graph, p.node.inputs[0]);
  const KernelRow* row = integer_product_kernel("gemm", p.isa, p.input(0), b, x, &m.form);
  const auto& zeros = b.quant->zero_point;
  const int64_t slots = int64_t(m.shape.b_offset.size()) * (m.shape.n + row->panel_width);
  constexpr int64_t kMaxSums = 1 << 24;  // byte forms keep a sum and a bias for each column of each matrix
  const bool plain =
      b.is_constant() && slots <= kMaxSums && std::all_of(zeros.begin(), zeros.end(), [](int32_t z) { return z == 0; });
  if (is_byte_form(m.form) && !plain) {
    m.form = ProductForm::kS16;
    row = find_kernel("gemm_s8", p.isa);
  }
  m.layout.together = m.form == ProductForm::kSteps ? 4 : channels_together(m.form);
  m.layout.rounded = channels_together(m.form);
  m.layout.unit = panel_unit(m.form);
  const int64_t vectors = (m.shape.n + 15) / 16, panels = (m.shape.n + row->panel_width - 1) / row->panel_width;
  m.layout.panel = panels == 0 ? 16 : (vectors + panels - 1) / panels * 16;
  return row;
}

Status prepare_s8(OpPrepare& p, MatMulParams& m, const KernelRow& row) {
  const Tensor &a = p.input(0), &b = p.input(1), &y = p.output(0);
  const int64_t n = m.shape.n;
  LQ_ASSIGN_OR_RETURN(m.zero_point_a, activation_zero_point(a));
  LQ_ASSIGN_OR_RETURN(m.multiplier, product_multipliers(a, b, y, n));
  LQ_ASSIGN_OR_RETURN(m.bias, product_bias(p, 2, n));
  LQ_ASSIGN_OR_RETURN(m.epilogue, product_epilogue(p, y));
  if (b.quant->scale.size() != 1 &&
      std::any_of(b.quant->zero_point.begin(), b.quant->zero_point.end(), [](int32_t z) { return z != 0; })) {
    return unsupported("per-channel weights '" + b.name + "' must have zero point 0");
  }
  m.zero_point_b = zero_point_at(*b.quant, 0);
  m.float_output = y.dtype == DType::Float32;
  const size_t slots = size_t(m.layout.tiles() * m.layout.panel);
  m.multiplier.resize(slots, 0.0f);
  m.bias.resize(slots, 0);
  m.worker_bytes = m.a_bytes =
      align_up(size_t(m.rows * ((m.shape.k + kBlock - 1) / kBlock * kBlock)) * size_t(strip_element(m.form)));
  m.short_output = ShortOutput::to(y, m.layout.panel, p.isa);
  m.worker_bytes += m.short_output.buffer_bytes(m.rows, 1);
  if (is_step_form(m.form)) {
    m.gemm_steps = reinterpret_cast<ConvStepsFn>(row.fn);
    p.set(row.name, row.isa, run_matmul_steps);
    return pack_bytes(p, m);
  }
  if (is_byte_form(m.form)) {
    m.gemm_bytes = reinterpret_cast<ConvByteFn>(row.fn);
    m.offset = reinterpret_cast<OffsetU8Fn>(find_kernel("offset_u8", p.isa)->fn);
    p.set(row.name, row.isa, run_matmul_bytes);
    return pack_bytes(p, m);
  }
  m.gemm_s8 = reinterpret_cast<ConvS8Fn>(row.fn);
  m.widen = reinterpret_cast<WidenS8Fn>(find_kernel("widen_s8", p.isa)->fn);
  p.set(row.name, row.isa, a.dtype == DType::Int16 ? run_matmul_s16_of_s16 : run_matmul_s16);
  return pack_b<int16_t, int8_t>(p, m, "gemm_s16", [&](const int8_t* source, int64_t tile, int16_t* out) {
    pack_tile_s16(m.shape, m.layout, source, m.zero_point_b, tile, out);
  });
}

Status prepare_f32(OpPrepare& p, MatMulParams& m) {
  m.clamp = float_clamp(p.node);
  const auto pack = [&](const float* source, int64_t tile, float* out) {
    pack_tile_f32(m.shape, m.layout, source, tile, out);
  };
  LQ_RETURN_IF_ERROR((pack_b<float, float>(p, m, "gemm_f32", pack)));
  m.a_bytes = m.shape.a_col == 1 ? 0 : align_up(size_t(m.rows * m.shape.k) * sizeof(float));
  m.worker_bytes = m.a_bytes + align_up(size_t(m.rows) * 16 * sizeof(float));
  const KernelRow* row = find_kernel("gemm_f32", p.isa);
  m.gemm_f32 = reinterpret_cast<ConvF32Fn>(row->fn);
  p.set(row->name, row->isa, run_matmul_f32);
  return {};
}

Status prepare_product(OpPrepare& p, MatMulParams& m, bool integer) {
  const MatMulShape& s = m.shape;
  constexpr int64_t kMaxExtent = 1 << 24;
  if (s.k > kMaxExtent || s.n > kMaxExtent ||
      saturating_product({int64_t(s.b_offset.size()), s.k + 1, s.n + 16}) > kMaxScratchElements) {
    return unsupported("matrices of " + std::to_string(s.k) + " x " + std::to_string(s.n) + " are too large to run");
  }
  for (const std::vector<TensorId>* ids : {&p.node.inputs, &p.node.outputs}) {
    for (TensorId id : *ids) {
      if (id != kNoTensor && p.graph.tensor(id).blocked_axis != -1) {
        return internal_error("a matrix product reads and writes linear tensors, '" + p.graph.tensor(id).name +
                              "' is NCHWc8");
      }
    }
  }
  m.layout.k = s.k, m.layout.n = s.n;
  const KernelRow* row = kInt8Built && integer ? choose_kernel(p, m) : nullptr;
  plan_rows(m, strip_element(m.form), p.threads);
  p.step.macs = saturating_product({s.batches(), s.m, s.n, s.k});
  p.step.integer = integer && p.input(0).dtype == DType::Int8;
  if (kInt8Built && integer) LQ_RETURN_IF_ERROR(prepare_s8(p, m, *row));
  if (kFloatBuilt && !integer) LQ_RETURN_IF_ERROR(prepare_f32(p, m));
  p.step.scratch_bytes = scratch_total(m.packed_bytes, m.worker_bytes, p.threads);
  return {};
}

Status prepare_matmul(OpPrepare& p) {
  LQ_ASSIGN_OR_RETURN(const bool integer, is_integer_product(p.input(0), p.input(1), p.output(0)));
  MatMulParams& m = p.make_params<MatMulParams>();
  LQ_ASSIGN_OR_RETURN(m.shape, matmul_shape(p.input(0).shape, p.input(1).shape, p.output(0).shape));
  return prepare_product(p, m, integer);
}

/// Gemm's c as strides over [M, N].
Result<GemmAddend> gemm_addend(const OpPrepare& p, const MatMulShape& s, bool integer) {
  const auto& attrs = attrs_as<schema::GemmAttrsT>(p.node);
  GemmAddend c{p.has_input(2), 0, 0, attrs.alpha, attrs.beta};
  if (integer && !c.plain()) return unsupported("an int8 Gemm needs alpha = beta = 1");
  if (!c.present || integer) return c;
  const Tensor& t = p.input(2);
  const size_t rank = t.shape.size();
  const int64_t rows = rank >= 2 ? t.shape[rank - 2] : 1, cols = rank >= 1 ? t.shape[rank - 1] : 1;
  if (t.dtype != DType::Float32 || rank > 2 || (rows != 1 && rows != s.m) || (cols != 1 && cols != s.n)) {
    return invalid_argument("c is " + std::string(dtype_name(t.dtype)) + " " + shape_string(t.shape) +
                            ", which does not broadcast to [" + std::to_string(s.m) + "," + std::to_string(s.n) + "]");
  }
  c.row = rows == 1 ? 0 : cols;
  c.col = cols == 1 ? 0 : 1;
  return c;
}

Status prepare_gemm(OpPrepare& p) {
  LQ_ASSIGN_OR_RETURN(const bool integer, is_integer_product(p.input(0), p.input(1), p.output(0)));
  const auto& attrs = attrs_as<schema::GemmAttrsT>(p.node);
  MatMulParams& m = p.make_params<MatMulParams>();
  LQ_ASSIGN_OR_RETURN(m.shape,
                      gemm_shape(p.input(0).shape, p.input(1).shape, p.output(0).shape, attrs.trans_a, attrs.trans_b));
  LQ_ASSIGN_OR_RETURN(m.addend, gemm_addend(p, m.shape, integer));
  return prepare_product(p, m, integer);
}

constexpr OpRow kRows[] = {{Op::Gemm, built<Op::Gemm>(&prepare_gemm)},
                           {Op::MatMul, built<Op::MatMul>(&prepare_matmul)}};

}  // namespace

const OpRowTable kMatMulRows = {kRows, 2};

}  // namespace lq
