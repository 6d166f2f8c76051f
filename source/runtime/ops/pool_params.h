// Shared by the two paths of the pools: pool.cc (blocked kernels) and pool_strided.cc (any rank, layout and type;
// indices).
#pragma once
#include <vector>

#include "runtime/ops/blocked.h"
#include "runtime/ops/dtype_dispatch.h"

namespace lq {

struct PoolParams : NamedParams {
  bool average = false;
  std::vector<std::vector<PoolTaps>> taps;  // by spatial axis, by output position
  std::vector<int64_t> dilations, in, out;  // by spatial axis
  std::vector<int64_t> slots;               // distinct divisors by spatial axis
  std::vector<float> multiplier;            // int8 average: by slot of every axis, row-major
  BlockedShape x, y;
  bool x_blocked = false, y_blocked = false, indices_blocked = false;
  bool column_major = false;  // MaxPool storage_order: of the indices
  RoundArgs round = {};
  int32_t zero_x = 0;
  uint8_t fill = 0;  // int8: pad lanes of y
  // blocked path
  PoolArgs args = {};
  PoolF32Fn f32 = nullptr;
  PoolS8Fn s8 = nullptr;
};

/// Chooses the strided path for a filled PoolParams.
Status prepare_pool_strided(OpPrepare& p, PoolParams& params);

}  // namespace lq
