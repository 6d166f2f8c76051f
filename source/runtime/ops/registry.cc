// Joins the families' tables. An operator is executable iff one of them has a row for it.
#include "runtime/ops/tables.h"

namespace lq {

PrepareFn find_prepare(Op op) {
  const OpRowTable* const tables[] = {&kConvRows, &kMatMulRows, &kQuantRows,  &kLayoutRows, &kElementwiseRows,
                                      &kPoolRows, &kReduceRows, &kNormRows,   &kDataRows,   &kResizeRows,
                                      &kRnnRows,  &kSortRows,   &kEinsumRows, &kControlRows};
  for (const OpRowTable* table : tables) {
    for (int i = 0; i < table->count; ++i) {
      if (table->rows[i].op == op) return table->rows[i].prepare;
    }
  }
  return nullptr;
}

}  // namespace lq
