// How shape tests ask: build one node's graph, infer, and read the shape (or the refusal) back.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph_builder.h"

namespace lq::test {

/// Shape of output 0 after inference; its failure message instead when it fails.
inline std::string shape_after(const std::function<TensorId(Builder&)>& build) {
  ModelIr model;
  Builder b(model);
  const TensorId out = build(b);
  const Status s = infer_shapes(model, nullptr);
  if (!s.ok()) return s.message();
  const Tensor& t = model.main().tensor(out);
  return t.ranked ? std::string(dtype_name(t.dtype)) + shape_string(t.shape) : "unranked";
}

inline schema::ConvAttrsT conv(std::vector<int32_t> strides, std::vector<int32_t> pads = {},
                               std::vector<int32_t> dilations = {}, int groups = 1) {
  schema::ConvAttrsT a;
  a.strides = std::move(strides);
  a.pads = std::move(pads);
  a.dilations = std::move(dilations);
  a.groups = groups;
  return a;
}

inline schema::AxisAttrsT axis(int value) {
  schema::AxisAttrsT a;
  a.axis = value;
  return a;
}

}  // namespace lq::test
