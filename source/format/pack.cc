#include "format/pack.h"

#include <cstring>
#include <string>

#include "format/checksum.h"
#include "format/compact.h"
#include "format/flat_checks.h"
#include "format/model_file.h"
#include "format/palette.h"

namespace lq {
namespace {

using flatbuffers::Offset;
template <typename T>
using List = Offset<flatbuffers::Vector<T>>;

/// Per-channel weights have a zero point of 0 a channel: an empty list says the same in no bytes.
bool only_zeros(const std::vector<int32_t>& list) {
  for (int32_t z : list) {
    if (z != 0) return false;
  }
  return true;
}

class Packer {
 public:
  Packer(flatbuffers::FlatBufferBuilder& builder, WeightSection& weights) : fbb_(builder), weights_(weights) {}

  Offset<schema::Subgraph> subgraph(const Graph& graph) {
    std::vector<Offset<schema::Tensor>> tensors;
    for (const Tensor& t : graph.tensors) tensors.push_back(tensor(t));
    std::vector<Offset<schema::Node>> nodes;
    for (const Node& n : graph.nodes) nodes.push_back(node(n));
    const auto tensor_list = fbb_.CreateVector(tensors);
    const auto node_list = fbb_.CreateVector(nodes);
    const auto inputs = list(graph.inputs), outputs = list(graph.outputs);
    return schema::CreateSubgraph(fbb_, text(graph.name), tensor_list, node_list, inputs, outputs);
  }

  Offset<flatbuffers::String> text(const std::string& s) {
    if (s.empty()) return 0;
    return s.size() <= kMaxSharedBytes ? fbb_.CreateSharedString(s) : fbb_.CreateString(s);
  }

  List<Offset<flatbuffers::String>> texts(const std::vector<std::string>& strings) {
    if (strings.empty()) return 0;
    std::vector<Offset<flatbuffers::String>> offsets;
    for (const std::string& s : strings) offsets.push_back(s.empty() ? fbb_.CreateSharedString(s) : text(s));
    return fbb_.CreateVector(offsets);
  }

 private:
  template <typename T>
  List<T> list(const std::vector<T>& v) {
    if (v.empty()) return 0;
    const size_t bytes = v.size() * sizeof(T);
    if (bytes > kMaxSharedBytes) return fbb_.CreateVector(v);
    std::string key(1, char(sizeof(T)));
    key.append(reinterpret_cast<const char*>(v.data()), bytes);
    const auto [at, is_new] = lists_.emplace(std::move(key), 0);
    if (is_new) at->second = fbb_.CreateVector(v).o;
    return at->second;
  }

  Offset<schema::QuantParams> params(const QuantParams& p) {
    const bool none = p.granularity == schema::Granularity::PerChannel && only_zeros(p.zero_point);
    const std::vector<int32_t> zero_point = none ? std::vector<int32_t>() : p.zero_point;
    const auto scale = list(p.scale), second = list(p.second_level_scale);
    const auto zero = list(zero_point), multiplier = list(p.multiplier), shift = list(p.shift);
    return schema::CreateQuantParams(fbb_, p.dtype, p.qmin, p.qmax, p.granularity, p.axis, p.block_size, scale, zero,
                                     p.scale_source, p.scale_ref, p.scale_dtype, second, multiplier, shift);
  }

  Offset<schema::Tensor> tensor(const Tensor& t) {
    const auto name = text(t.name);
    const auto shape = list(t.shape);
    const auto dim_names = texts(t.dim_names);
    const int buffer = t.is_constant() ? weights_.add(t.data) : -1;
    Offset<schema::QuantParams> quant = 0;
    if (t.quant) quant = params(*t.quant);
    Offset<schema::Range> range = 0;
    if (t.range) range = schema::CreateRange(fbb_, t.range->min, t.range->max);
    return schema::CreateTensor(fbb_, name, t.dtype, shape, dim_names, buffer, quant, range, false, !t.ranked);
  }

  /// Networks repeat the same few convolutions: equal attributes are one table. A buffer of their own tells whether
  /// they are equal, whatever their kind, and whether they hold long lists, which are not shared.
  Offset<void> attributes(const Attrs& attrs) {
    if (attrs.type == schema::Attrs::NONE) return 0;
    flatbuffers::FlatBufferBuilder alone(256);
    alone.Finish(schema::CreateNode(alone, Op::Undefined, 1, 0, 0, 0, attrs.type, attrs.Pack(alone)));
    if (attribute_bytes(*flatbuffers::GetRoot<schema::Node>(alone.GetBufferPointer())) > 0) return attrs.Pack(fbb_);
    std::string key(reinterpret_cast<const char*>(alone.GetBufferPointer()), alone.GetSize());
    const auto [at, is_new] = attributes_.emplace(std::move(key), 0);
    if (is_new) at->second = pack_new(attrs).o;
    return at->second;
  }

  /// The kinds that are mostly lists share those too.
  Offset<void> pack_new(const Attrs& attrs) {
    if (const auto* a = attrs.AsConvAttrs()) {
      const auto kernel = list(a->kernel_shape), strides = list(a->strides), pads = list(a->pads);
      const auto dilations = list(a->dilations), padding = list(a->output_padding), shape = list(a->output_shape);
      return schema::CreateConvAttrs(fbb_, kernel, strides, pads, dilations, a->groups, a->auto_pad, padding, shape)
          .Union();
    }
    if (const auto* a = attrs.AsPoolAttrs()) {
      const auto kernel = list(a->kernel_shape), strides = list(a->strides), pads = list(a->pads),
                 dilations = list(a->dilations);
      return schema::CreatePoolAttrs(fbb_, kernel, strides, pads, dilations, a->auto_pad, a->ceil_mode,
                                     a->count_include_pad, a->storage_order)
          .Union();
    }
    return attrs.Pack(fbb_);
  }

  Offset<schema::Node> node(const Node& n) {
    // Quantize and Dequantize nodes are named after their neighbours: no use in a file.
    const bool boundary = n.op == Op::QuantizeLinear || n.op == Op::DequantizeLinear;
    const auto name = boundary ? Offset<flatbuffers::String>() : text(n.name);
    const auto inputs = list(n.inputs), outputs = list(n.outputs);
    const auto subgraphs = list(n.subgraphs);
    const Offset<void> attrs = attributes(n.attrs);
    return schema::CreateNode(fbb_, n.op, 1, name, inputs, outputs, n.attrs.type, attrs, subgraphs);
  }

  flatbuffers::FlatBufferBuilder& fbb_;
  WeightSection& weights_;
  std::map<std::string, flatbuffers::uoffset_t> lists_, attributes_;
};

}  // namespace

int WeightSection::add(const Bytes& bytes) {
  const uint64_t sum = checksum64(bytes.data(), bytes.size());
  auto [first, last] = by_checksum_.equal_range(sum);
  for (; first != last; ++first) {
    const Bytes& other = plain_[size_t(first->second)];
    if (other.size() == bytes.size() &&
        (bytes.size() == 0 || std::memcmp(other.data(), bytes.data(), bytes.size()) == 0)) {
      return first->second;
    }
  }
  const int index = int(parts_.size());
  by_checksum_.emplace(sum, index);
  plain_.push_back(bytes);
  const std::optional<Bytes> palette = palette_encoded(bytes);
  Part part{palette ? *palette : bytes, palette ? schema::Encoding::Palette : schema::Encoding::Raw, 0};
  part.offset = align_up(end_, buffer_alignment(part.stored.size()));
  end_ = part.offset + part.stored.size();
  parts_.push_back(std::move(part));
  return index;
}

void WeightSection::copy_to(uint8_t* section) const {
  for (const Part& part : parts_) {
    if (part.stored.size() != 0) std::memcpy(section + part.offset, part.stored.data(), part.stored.size());
  }
}

void pack_model(const ModelIr& ir, flatbuffers::FlatBufferBuilder& fbb, WeightSection& weights) {
  Packer packer(fbb, weights);
  std::vector<Offset<schema::Subgraph>> graphs;
  for (const Graph& graph : ir.graphs) {
    Graph stored = graph;  // shares the constants
    compact(stored);
    graphs.push_back(packer.subgraph(stored));
  }
  std::vector<Offset<schema::Buffer>> buffers;
  for (const WeightSection::Part& part : weights.parts()) {
    buffers.push_back(schema::CreateBuffer(fbb, 0, 0, part.stored.size(), part.encoding));
  }
  std::vector<Offset<schema::InputInfo>> inputs;
  for (const auto& input : ir.inputs) inputs.push_back(schema::InputInfo::Pack(fbb, &input));
  std::vector<Offset<schema::Metadata>> metadata;
  for (const auto& entry : ir.metadata) metadata.push_back(schema::Metadata::Pack(fbb, &entry));
  const auto graph_list = fbb.CreateVector(graphs);
  const auto buffer_list = fbb.CreateVector(buffers);
  const auto input_list = fbb.CreateVector(inputs);
  const auto metadata_list = fbb.CreateVector(metadata);
  const Offset<schema::Golden> golden = ir.golden ? schema::Golden::Pack(fbb, &*ir.golden) : 0;
  const auto producer = packer.text(ir.producer), options = packer.text(ir.options);
  bool shorts = false;
  for (const Graph& graph : ir.graphs) {
    for (const Tensor& t : graph.tensors) shorts |= t.quant && t.dtype == DType::Int16;
  }
  schema::FinishModelBuffer(
      fbb, schema::CreateModel(fbb, shorts ? kShortFileVersion : kFileVersion, ir.semantics_version, producer, options,
                               ir.arithmetic, graph_list, buffer_list, 0, input_list, golden, metadata_list));
}

}  // namespace lq
