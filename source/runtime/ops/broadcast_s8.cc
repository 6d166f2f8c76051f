#include "runtime/ops/broadcast_s8.h"

namespace lq {
namespace {

Status plan_operand(const Tensor& t, const Tensor& y, Step& step, OperandS8& o) {
  const size_t rank = y.shape.size(), size = dtype_size(t.dtype);
  Shape shape(rank - std::min(rank, t.shape.size()), 1);
  shape.insert(shape.end(), t.shape.begin(), t.shape.end());
  if (!is_blocked(y)) {
    if (is_blocked(t)) return internal_error("input '" + t.name + "' is blocked, the output is not");
    o.storage = shape;
    return {};
  }
  if (is_blocked(t) && t.shape.size() != rank)
    return internal_error("blocked input '" + t.name + "' of another rank than the output");
  o.storage = shape;
  o.storage.push_back(kBlock);
  const bool every_channel = shape[1] == y.shape[1];
  o.storage[1] = every_channel ? channel_blocks(shape[1]) : 1;
  if (is_blocked(t) && every_channel) return {};
  o.expanded = true;
  o.source = blocked_shape(shape);
  o.source_blocked = is_blocked(t);
  o.out_blocks = o.storage[1];
  const size_t bytes = size_t(o.source.n * o.out_blocks * o.source.spatial * kBlock) * size;
  if (t.is_constant()) {
    o.packed.resize(bytes);
    expand_operand(o, size, t.data.data(), o.packed.data());
  } else {
    o.scratch_offset = align_up(step.scratch_bytes);
    step.scratch_bytes = o.scratch_offset + bytes;
  }
  return {};
}

/// The innermost axes one kernel call covers.
void choose_run(BroadcastS8& plan) {
  StridedLoop<3>& l = plan.loop;
  const int inner = l.rank - 1;
  const auto repeats_8 = [&](int along, int repeating) {
    return inner > 0 && l.dims[inner] == kBlock && l.strides[along][inner] == 1 && l.strides[repeating][inner] == 1 &&
           l.strides[along][inner - 1] == kBlock && l.strides[repeating][inner - 1] == 0;
  };
  // The repeating operand must be the kernel's second.
  if ((l.strides[1][inner] == 0 && l.strides[2][inner] != 0) || repeats_8(2, 1)) {
    std::swap(l.strides[1], l.strides[2]);
    plan.swapped = true;
  }
  plan.outer = inner;
  plan.run = l.dims[inner];
  if (repeats_8(1, 2)) {
    plan.mode = BroadcastS8::Mode::kRepeat8;
    plan.outer = inner - 1;
    plan.run *= l.dims[inner - 1];
  } else if (l.strides[2][inner] == 0) {
    plan.mode = BroadcastS8::Mode::kSplat;
  }
  plan.rows = 1;
  for (int d = 0; d < plan.outer; ++d) plan.rows *= l.dims[d];
}

}  // namespace

void expand_operand(const OperandS8& o, size_t size, const void* source, void* out) {
  const uint8_t* x = static_cast<const uint8_t*>(source);
  uint8_t* y = static_cast<uint8_t*>(out);
  const BlockedShape& s = o.source;
  const int64_t step = o.source_blocked ? kBlock : 1;  // source_blocked only with one channel
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t block = 0; block < o.out_blocks; ++block) {
      for (int64_t i = 0; i < s.spatial; ++i) {
        for (int64_t lane = 0; lane < kBlock; ++lane, y += size) {
          // Lanes behind the last channel repeat it: any value does, the output's lanes are rewritten.
          const int64_t c = std::min(block * kBlock + lane, s.c - 1);
          std::memcpy(y, x + ((n * s.c + c) * s.spatial + i) * step * int64_t(size), size);
        }
      }
    }
  }
}

Status plan_broadcast_s8(OpPrepare& p, BroadcastS8& plan) {
  const Tensor& y = p.output(0);
  plan.y_blocked = is_blocked(y);
  if (plan.y_blocked) plan.y = blocked_shape(y.shape);
  plan.fill = uint8_t(lane_fill(y));
  LQ_RETURN_IF_ERROR(plan_operand(p.input(0), y, p.step, plan.a));
  LQ_RETURN_IF_ERROR(plan_operand(p.input(1), y, p.step, plan.b));
  const Shape out = storage_shape(y);
  const std::array<std::vector<int64_t>, 3> strides = {row_major_strides(out), broadcast_strides(plan.a.storage, out),
                                                       broadcast_strides(plan.b.storage, out)};
  LQ_RETURN_IF_ERROR(make_loop<3>(out, strides, plan.loop));
  choose_run(plan);
  return {};
}

}  // namespace lq
