// A 3×3 int8 layer of stride 1 as prepare and run see it, for measuring it whole: padding, transforms and
// requantization included.
#pragma once
#include <map>
#include <random>
#include <string>
#include <vector>

#include "numerics/quantize.h"
#include "runtime/model.h"
#include "runtime/ops/conv_run.h"
#include "runtime/ops/conv_winograd.h"

namespace lq {

class Packs : public PackCache {
 public:
  Result<const void*> get(const std::string& key, size_t bytes, const std::function<void(void*)>& fill) override {
    LQ_ASSIGN_OR_RETURN(packs_[key], Buffer::allocate(align_up(bytes + 1), "packed weights"));
    fill(packs_[key].data());
    return static_cast<const void*>(packs_[key].data());
  }

 private:
  std::map<std::string, Buffer> packs_;
};

/// map × map pixels, `channels` in and out, padded by 1.
struct Shape3x3 {
  int64_t map, channels;
};

/// A model of one Conv, tensors blocked as the layout pass has them.
struct Layer {
  ModelIr model;
  Node node;
  std::vector<int8_t> x, y;

  explicit Layer(const Shape3x3& s) : x(size_t(s.map * s.map * s.channels)), y(x.size()) {
    model.graphs.emplace_back();
    Graph& graph = model.main();
    std::mt19937 random(1);
    for (int8_t& v : x) v = int8_t(random() % 255 - 127);
    std::vector<int8_t> w(size_t(s.channels * s.channels * 9));
    for (int8_t& v : w) v = int8_t(random() % 255 - 127);
    node.op = Op::Conv;
    auto& attrs = mutable_attrs<schema::ConvAttrsT>(node);
    attrs.kernel_shape = {3, 3}, attrs.strides = {1, 1}, attrs.dilations = {1, 1}, attrs.groups = 1;
    attrs.pads = {1, 1, 1, 1};
    const Shape map{1, s.channels, s.map, s.map};
    const TensorId in = add(map);
    const TensorId weights = graph.add_constant("w", DType::Int8, {s.channels, s.channels, 3, 3}, w.data());
    graph.tensor(weights).quant = per_channel_weights({0.01f}, 0);
    node.inputs = {in, weights};
    node.outputs = {add(map)};
  }

 private:
  TensorId add(const Shape& shape) {
    Tensor t;
    t.name = "t" + std::to_string(model.main().tensors.size());
    t.dtype = DType::Int8;
    t.ranked = true;
    t.shape = shape;
    t.blocked_axis = 1;
    t.quant = per_tensor_params(DType::Int8, 0.05f, 0);
    return model.main().add_tensor(std::move(t));
  }
};

/// Prepares it for one thread. m: tiles of m × m outputs by Winograd, 0: the direct kernel.
inline Status prepare_layer(const Layer& layer, Isa isa, int m, PackCache& packs, Step& step) {
  step.inputs = layer.node.inputs, step.outputs = layer.node.outputs;
  OpPrepare p(layer.model, layer.model.main(), layer.node, isa, 1, packs, step);
  LQ_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(p, false));
  return m == 0 ? prepare_conv_panels(p, shape, conv_phases(shape), false, true) : prepare_winograd_tile(p, shape, m);
}

}  // namespace lq
