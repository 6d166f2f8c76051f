// The float32 rows of elementwise_arith.cc, vectorised.
#include "runtime/ops/arith_functions.h"

namespace lq {

template void binary_row<arith::AddFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::SubFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::MulFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::DivFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::TruncModFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::MinFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::MaxFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);
template void binary_row<arith::PReluFn, float, float>(const void*, int64_t, const void*, int64_t, void*, int64_t);

template void repeat_row<arith::AddFn, 0>(const float*, const float*, int64_t, float*, int64_t);
template void repeat_row<arith::AddFn, 1>(const float*, const float*, int64_t, float*, int64_t);
template void repeat_row<arith::SubFn, 0>(const float*, const float*, int64_t, float*, int64_t);
template void repeat_row<arith::SubFn, 1>(const float*, const float*, int64_t, float*, int64_t);
template void repeat_row<arith::MulFn, 0>(const float*, const float*, int64_t, float*, int64_t);
template void repeat_row<arith::MulFn, 1>(const float*, const float*, int64_t, float*, int64_t);

}  // namespace lq
