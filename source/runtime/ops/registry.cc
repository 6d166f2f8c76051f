// Joins the families' tables. An operator is executable iff one of them has a row for it.
#include "graph/built_ops.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

constexpr OpRowTable kNoRows = {nullptr, 0};

/// The family's table, or none in a build that leaves all of its operators out: then nothing refers to its code.
template <Op... kOps>
constexpr const OpRowTable* any_of(const OpRowTable& table) {
  return any_op_built<kOps...>() ? &table : &kNoRows;
}

}  // namespace

PrepareFn find_prepare(Op op) {
  static constexpr const OpRowTable* kTables[] = {
      &kQuantRows,
      &kLayoutRows,
      &kElementwiseRows,
      &kDataRows,
      any_of<Op::Conv, Op::ConvTranspose>(kConvRows),
      any_of<Op::Gemm, Op::MatMul>(kMatMulRows),
      any_of<Op::MaxPool, Op::AveragePool, Op::GlobalAveragePool, Op::GlobalMaxPool>(kPoolRows),
      any_of<Op::ReduceMean, Op::ReduceSum, Op::ReduceMax, Op::ReduceMin, Op::ReduceL2, Op::ReduceProd>(kReduceRows),
      any_of<Op::BatchNormalization, Op::InstanceNormalization, Op::LayerNormalization, Op::Softmax, Op::LogSoftmax>(
          kNormRows),
      any_of<Op::Resize>(kResizeRows),
      any_of<Op::LSTM, Op::GRU>(kRnnRows),
      any_of<Op::ArgMax, Op::ArgMin, Op::TopK>(kSortRows),
      any_of<Op::Einsum>(kEinsumRows),
      any_of<Op::If>(kControlRows)};
  for (const OpRowTable* table : kTables) {
    for (int i = 0; i < table->count; ++i) {
      if (table->rows[i].op == op) return table->rows[i].prepare;
    }
  }
  return nullptr;
}

}  // namespace lq
