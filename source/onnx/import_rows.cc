#include "onnx/import_rows.h"

#include <algorithm>

#include "onnx/node_import.h"

namespace lq {
namespace {

template <typename Fn>
void for_each_row(Fn fn) {
  for (auto table : {product_rows(), norm_rows(), elementwise_rows(), reduce_rows(), move_rows(), resize_rows(),
                     shape_rows(), quantize_rows(), control_rows()}) {
    for (const ImportRow& row : table) fn(row);
  }
}

}  // namespace

const ImportRow* find_import_row(std::string_view op_type, int opset) {
  const ImportRow* found = nullptr;
  for_each_row([&](const ImportRow& row) {
    if (op_type == row.op_type && row.since <= opset && opset <= row.to) found = &row;
  });
  return found;
}

std::string supported_opsets(std::string_view op_type) {
  int since = 0, to = 0;
  for_each_row([&](const ImportRow& row) {
    if (op_type != row.op_type) return;
    since = since == 0 ? row.since : std::min(since, row.since);
    to = std::max(to, row.to);
  });
  return since == 0 ? "" : "opset " + std::to_string(since) + " to " + std::to_string(to);
}

Status convert_plain(NodeImport& node) {
  node.emit(node.row().op, node.inputs());
  return {};
}

}  // namespace lq
