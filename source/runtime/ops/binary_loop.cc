#include "runtime/ops/binary_loop.h"

#include <utility>

#include "numerics/quantize.h"
#include "runtime/ops/blocked.h"

namespace lq {
namespace {

void clamp_row(const BinaryParams& params, float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = clamp_nan_to_low(values[i], params.low, params.high);
}

}  // namespace

void run_rows(const BinaryParams& params, const RunContext& context, const void* a, int stride_row, const void* b,
              void* y) {
  const StridedLoop<4>& loop = params.loop;
  const int64_t stride_a = loop.strides[stride_row][loop.rank - 1], stride_b = loop.strides[2][loop.rank - 1];
  const int64_t in = int64_t(params.input_size), out = int64_t(params.output_size);
  parallel(context, loop.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for_rows(loop, begin, end, [&](const int64_t* at, int64_t n) {
      uint8_t* row = static_cast<uint8_t*>(y) + at[0] * out;
      const uint8_t *u = static_cast<const uint8_t*>(a) + at[stride_row] * in,
                    *v = static_cast<const uint8_t*>(b) + at[2] * in;
      if (params.repeat != nullptr) {
        if (params.repeating == 0) std::swap(u, v);
        params.repeat(reinterpret_cast<const float*>(u), reinterpret_cast<const float*>(v), at[0] % kBlock,
                      reinterpret_cast<float*>(row), n);
      } else {
        params.row(u, stride_a, v, stride_b, row, n);
      }
      if (params.clamp) clamp_row(params, reinterpret_cast<float*>(row), n);
    });
  });
}

Status run_binary(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<BinaryParams>();
  const void* a = broadcast_operand(params, 0, params.input_index[0], step, context);
  const void* b = broadcast_operand(params, 1, params.input_index[1], step, context);
  void* y = context.output<void>(step, 0);
  run_rows(params, context, a, 1, b, y);
  finish_broadcast(params, y);
  return {};
}

namespace {

void binary_piece(const Step& step, const RunContext& context, int64_t at, int64_t n) {
  const auto& params = step.params_as<BinaryParams>();
  const auto* a = static_cast<const float*>(broadcast_operand(params, 0, params.input_index[0], step, context));
  const auto* b = static_cast<const float*>(broadcast_operand(params, 1, params.input_index[1], step, context));
  float* y = context.output<float>(step, 0);
  params.row(a + at, 1, b + at, 1, y + at, n);
  if (params.clamp) clamp_row(params, y + at, n);
  const int64_t blocks = channel_blocks(params.channels);
  const int tail = int(params.channels - (blocks - 1) * kBlock);
  restore_lanes_of_piece(y, {params.batch, params.channels, blocks, params.spatial, tail}, at, n);
}

}  // namespace

void offer_binary_piece(OpPrepare& p, const BinaryParams& params) {
  const StridedLoop<4>& loop = params.loop;
  const bool alike = loop.rank == 1 && loop.strides[1][0] == 1 && loop.strides[2][0] == 1;
  if (alike && p.output(0).dtype == DType::Float32 && is_blocked(p.output(0))) p.step.piece = &binary_piece;
}

}  // namespace lq
