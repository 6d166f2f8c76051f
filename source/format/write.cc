#include <cstring>
#include <map>

#include "base/file.h"
#include "format/checksum.h"
#include "format/model_file.h"

namespace lq {
namespace {

/// Collects constants into the weight section; equal bytes are stored once.
class WeightSection {
 public:
  int add(const Bytes& bytes) {
    const uint64_t sum = checksum64(bytes.data(), bytes.size());
    auto [first, last] = by_checksum_.equal_range(sum);
    for (; first != last; ++first) {
      const Bytes& other = parts_[size_t(first->second)];
      if (other.size() == bytes.size() && std::memcmp(other.data(), bytes.data(), bytes.size()) == 0) return first->second;
    }
    auto entry = std::make_unique<schema::BufferT>();
    entry->offset = size_;
    entry->size = bytes.size();
    entry->checksum = sum;
    const int index = int(parts_.size());
    by_checksum_.emplace(sum, index);
    parts_.push_back(bytes);
    table_.push_back(std::move(entry));
    size_ += align_up(bytes.size());
    return index;
  }
  size_t size() const { return size_; }
  std::vector<std::unique_ptr<schema::BufferT>>& table() { return table_; }
  void copy_to(uint8_t* section) const {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].size() != 0) std::memcpy(section + table_offset_[i], parts_[i].data(), parts_[i].size());
    }
  }
  void freeze_offsets() {
    for (const auto& entry : table_) table_offset_.push_back(entry->offset);
  }

 private:
  std::multimap<uint64_t, int> by_checksum_;
  std::vector<Bytes> parts_;
  std::vector<std::unique_ptr<schema::BufferT>> table_;
  std::vector<uint64_t> table_offset_;
  size_t size_ = 0;
};

/// Per-channel weights have a zero point of 0 a channel: an empty list says the same in no bytes.
void drop_zero_points(QuantParams& params) {
  if (params.granularity != schema::Granularity::PerChannel) return;
  for (int32_t z : params.zero_point) {
    if (z != 0) return;
  }
  params.zero_point.clear();
}

std::unique_ptr<schema::TensorT> pack_tensor(const Tensor& tensor, WeightSection& weights) {
  auto t = std::make_unique<schema::TensorT>();
  t->name = tensor.name;
  t->dtype = tensor.dtype;
  t->shape = tensor.shape;
  t->unranked = !tensor.ranked;
  t->dim_names = tensor.dim_names;
  if (tensor.is_constant()) t->buffer = weights.add(tensor.data);
  if (tensor.quant) {
    t->quant = std::make_unique<schema::QuantParamsT>(*tensor.quant);
    drop_zero_points(*t->quant);
  }
  if (tensor.range) {
    t->range = std::make_unique<schema::RangeT>();
    t->range->min = tensor.range->min;
    t->range->max = tensor.range->max;
  }
  return t;
}

bool is_boundary(const Node& node) { return node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear; }

/// Quantize and Dequantize nodes and dequantized weights carry names made from their neighbours': no use in a file, and
/// in small models a tenth of it.
void drop_derived_names(const Graph& graph, schema::SubgraphT& packed) {
  for (const Node& node : graph.nodes) {
    if (node.op != Op::DequantizeLinear || !graph.tensor(node.inputs[0]).is_constant() || is_graph_output(graph, node.outputs[0])) continue;
    packed.tensors[size_t(node.outputs[0])]->name.clear();
  }
}

std::unique_ptr<schema::SubgraphT> pack_graph(const Graph& graph, WeightSection& weights) {
  auto g = std::make_unique<schema::SubgraphT>();
  g->name = graph.name;
  g->inputs = graph.inputs;
  g->outputs = graph.outputs;
  for (const Tensor& tensor : graph.tensors) g->tensors.push_back(pack_tensor(tensor, weights));
  drop_derived_names(graph, *g);
  for (const Node& node : graph.nodes) {
    auto n = std::make_unique<schema::NodeT>();
    n->op = node.op;
    if (!is_boundary(node)) n->name = node.name;
    n->inputs = node.inputs;
    n->outputs = node.outputs;
    n->attrs = node.attrs;
    n->subgraphs = node.subgraphs;
    g->nodes.push_back(std::move(n));
  }
  return g;
}

std::unique_ptr<schema::InputInfoT> copy_input(const schema::InputInfoT& input) {
  auto copy = std::make_unique<schema::InputInfoT>();
  copy->name = input.name;
  if (!input.preprocessing) return copy;
  const schema::PreprocessingT& from = *input.preprocessing;
  copy->preprocessing = std::make_unique<schema::PreprocessingT>();
  schema::PreprocessingT& to = *copy->preprocessing;
  to.color = from.color;
  to.mean = from.mean;
  to.std = from.std;
  to.layout = from.layout;
  to.ignore_exif = from.ignore_exif;
  for (const auto& step : from.steps) to.steps.push_back(std::make_unique<schema::PreprocessStepT>(*step));
  return copy;
}

schema::ModelT pack_model(const ModelIr& ir, WeightSection& weights) {
  schema::ModelT m;
  m.min_reader_version = 1;
  m.semantics_version = ir.semantics_version;
  m.producer = ir.producer;
  m.options = ir.options;
  m.arithmetic = ir.arithmetic;
  for (const Graph& graph : ir.graphs) m.subgraphs.push_back(pack_graph(graph, weights));
  for (const auto& input : ir.inputs) m.inputs.push_back(copy_input(input));
  if (ir.golden) m.golden = std::make_unique<schema::GoldenT>(*ir.golden);
  for (const auto& entry : ir.metadata) m.metadata.push_back(std::make_unique<schema::MetadataT>(entry));
  weights.freeze_offsets();
  m.buffers = std::move(weights.table());
  return m;
}

}  // namespace

Result<Bytes> serialize_model(const ModelIr& model) {
  LQ_RETURN_IF_ERROR(verify(model));
  WeightSection weights;
  schema::ModelT packed = pack_model(model, weights);
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &packed));

  FileHeader header{};
  header.header_size = sizeof(FileHeader);
  std::memcpy(header.identifier, "LQM1", 4);
  header.graph_offset = sizeof(FileHeader);
  header.graph_size = builder.GetSize();
  header.graph_checksum = checksum64(builder.GetBufferPointer(), builder.GetSize());
  header.weights_offset = align_up(header.graph_offset + header.graph_size);
  header.weights_size = weights.size();
  header.header_checksum = checksum64(&header, offsetof(FileHeader, header_checksum));

  LQ_ASSIGN_OR_RETURN(Buffer file, Buffer::allocate(header.weights_offset + header.weights_size, "the model file"));
  std::memset(file.data(), 0, file.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + header.graph_offset, builder.GetBufferPointer(), builder.GetSize());
  weights.copy_to(file.data() + header.weights_offset);
  return Bytes::from(std::move(file));
}

Status write_model_file(const ModelIr& model, const std::string& path) {
  Result<Bytes> bytes = serialize_model(model);
  if (!bytes.ok()) return bytes.status().with_context(path);
  // The reader must accept what the writer made, before anything reaches the disk.
  Result<ModelIr> back = read_model(*bytes);
  if (!back.ok()) return internal_error(path + ": the written model cannot be read back: " + back.status().message());
  return write_file_atomically(path, {{bytes->data(), bytes->size()}});
}

}  // namespace lq
