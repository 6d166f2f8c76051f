#include <cstring>

#include "base/file.h"
#include "format/checksum.h"
#include "format/flat_checks.h"
#include "format/model_file.h"
#include "graph/op_def.h"

namespace lq {
namespace {

constexpr const char* kDamaged = "; the file is damaged, make or copy it again";

struct Sections {
  const uint8_t* graph;   // 16-byte-aligned
  size_t graph_size;
  const uint8_t* weights;
  size_t weights_size;
  Bytes aligned_copy;     // holds the graph when the file's address did not suit
};

/// True if [offset, offset + size) lies inside a region of `total` bytes; no overflow.
bool inside(uint64_t offset, uint64_t size, uint64_t total) { return offset <= total && size <= total - offset; }

Result<Sections> find_sections(const Bytes& file) {
  if (!is_model_file(file.data(), file.size())) {
    return corrupt("is not a libquant model (identifier LQM1 missing); make one with `quantize`");
  }
  FileHeader h;
  std::memcpy(&h, file.data(), sizeof h);
  if (h.header_checksum != checksum64(&h, offsetof(FileHeader, header_checksum))) {
    return corrupt(std::string("header checksum differs") + kDamaged);
  }
  if (h.header_size != sizeof(FileHeader)) {
    return unsupported("has a header of " + std::to_string(h.header_size) + " bytes, this version knows 64; update libquant");
  }
  if (h.graph_offset < sizeof(FileHeader) || !inside(h.graph_offset, h.graph_size, file.size()) ||
      !inside(h.weights_offset, h.weights_size, file.size()) || h.weights_offset < h.graph_offset + h.graph_size) {
    return corrupt("is truncated: the header tells of " + std::to_string(h.weights_offset + h.weights_size) + " bytes, the file has " +
                   std::to_string(file.size()) + kDamaged);
  }
  // The flatbuffers library takes larger buffers for a programming error.
  if (h.graph_size >= FLATBUFFERS_MAX_BUFFER_SIZE) return corrupt(std::string("the graph is larger than 2 GB") + kDamaged);
  Sections s{file.data() + h.graph_offset, size_t(h.graph_size), file.data() + h.weights_offset, size_t(h.weights_size), {}};
  if (h.graph_checksum != checksum64(s.graph, s.graph_size)) return corrupt(std::string("graph checksum differs") + kDamaged);
  if (reinterpret_cast<uintptr_t>(s.graph) % 16 != 0) {
    LQ_ASSIGN_OR_RETURN(s.aligned_copy, Bytes::copy_of(s.graph, s.graph_size));
    s.graph = s.aligned_copy.data();
  }
  return s;
}

Status check_version(const schema::Model& model) {
  if (model.min_reader_version() > kReaderVersion) {
    return unsupported("needs a reader of version " + std::to_string(model.min_reader_version()) + ", this is version " +
                       std::to_string(kReaderVersion) + "; update libquant");
  }
  if (model.semantics_version() != kSemanticsVersion) {
    return unsupported("has semantics version " + std::to_string(model.semantics_version()) + ", this library knows " +
                       std::to_string(kSemanticsVersion) + "; update libquant");
  }
  if (model.arithmetic() != schema::ArithmeticMode::FloatRequantize) {
    return unsupported("asks for integer requantization, which this version does not have; update libquant");
  }
  if (model.files() != nullptr && model.files()->size() != 0) {
    return unsupported("keeps weights in side files, which this version does not read; update libquant");
  }
  return {};
}

Result<std::vector<Bytes>> read_buffers(const schema::Model& model, const Sections& sections, const Bytes& file) {
  std::vector<Bytes> buffers;
  if (model.buffers() == nullptr) return buffers;
  // Every buffer shares one owner: the file, whoever holds it.
  auto owner = std::make_shared<Bytes>(file);
  uint64_t total = 0;
  for (flatbuffers::uoffset_t i = 0; i < model.buffers()->size(); ++i) {
    const schema::Buffer& b = *model.buffers()->Get(i);
    const std::string label = "weight buffer " + std::to_string(i);
    if (b.file() != 0 || b.encoding() != schema::Encoding::Raw) {
      return unsupported(label + " uses an encoding this version does not read; update libquant");
    }
    if (!inside(b.offset(), b.size(), sections.weights_size)) return corrupt(label + " lies outside the weight section" + kDamaged);
    // Buffers that overlap could make a small file cost a checksum without end.
    total += b.size();
    if (total > sections.weights_size) return corrupt(label + " overlaps another" + kDamaged);
    const uint8_t* data = sections.weights + b.offset();
    if (b.checksum() != checksum64(data, b.size())) return corrupt(label + ": checksum differs" + kDamaged);
    buffers.emplace_back(data, size_t(b.size()), owner);
  }
  return buffers;
}

/// A name ready for messages of one line: control characters become '?'.
std::string printable(std::string name) {
  for (char& c : name) {
    if (uint8_t(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name;
}

/// The same for what attributes spell out.
void make_printable(schema::AttrsUnion& attrs) {
  if (auto* a = attrs.AsEinsumAttrs()) a->equation = printable(std::move(a->equation));
  if (auto* a = attrs.AsCustomAttrs()) {
    a->domain = printable(std::move(a->domain));
    a->name = printable(std::move(a->name));
  }
  if (auto* a = attrs.AsRnnAttrs()) {
    for (std::string& name : a->activations) name = printable(std::move(name));
  }
}

Result<Tensor> unpack_tensor(schema::TensorT& t, const std::vector<Bytes>& buffers) {
  Tensor tensor;
  tensor.name = printable(std::move(t.name));
  if (t.dtype > schema::DType::MAX) {
    return unsupported("tensor '" + tensor.name + "' has the unknown data type " + std::to_string(int(t.dtype)) + "; update libquant");
  }
  if (t.is_state) return unsupported("tensor '" + tensor.name + "' is a state, which this version does not have; update libquant");
  tensor.dtype = t.dtype;
  tensor.ranked = !t.unranked;
  tensor.shape = std::move(t.shape);
  for (std::string& name : t.dim_names) tensor.dim_names.push_back(printable(std::move(name)));
  if (t.buffer != -1) {
    if (t.buffer < 0 || size_t(t.buffer) >= buffers.size()) {
      return corrupt("tensor '" + tensor.name + "' names weight buffer " + std::to_string(t.buffer) + " of " + std::to_string(buffers.size()));
    }
    tensor.data = buffers[size_t(t.buffer)];
  }
  if (t.quant) tensor.quant = std::move(*t.quant);
  if (t.range) tensor.range = ValueRange{t.range->min, t.range->max};
  return tensor;
}

Result<Graph> unpack_graph(schema::SubgraphT& g, const std::vector<Bytes>& buffers) {
  Graph graph;
  graph.name = printable(std::move(g.name));
  graph.inputs = std::move(g.inputs);
  graph.outputs = std::move(g.outputs);
  for (auto& t : g.tensors) {
    LQ_ASSIGN_OR_RETURN(Tensor tensor, unpack_tensor(*t, buffers));
    graph.tensors.push_back(std::move(tensor));
  }
  for (auto& n : g.nodes) {
    n->name = printable(std::move(n->name));
    if (n->op_version != 1) {
      return unsupported("node '" + n->name + "' has version " + std::to_string(n->op_version) + " of its operator, this library knows 1; update libquant");
    }
    if (find_op(n->op) == nullptr) {
      return unsupported("node '" + n->name + "' is the unknown operator " + std::to_string(int(n->op)) + "; update libquant");
    }
    Node node;
    node.op = n->op;
    node.name = std::move(n->name);
    node.inputs = std::move(n->inputs);
    node.outputs = std::move(n->outputs);
    if (n->attrs.type > schema::Attrs::MAX) return unsupported("node '" + node.name + "' has unknown attributes; update libquant");
    // The verifier lets a union have a type and no value; copying such an object would read through a null pointer.
    if (n->attrs.type != schema::Attrs::NONE && n->attrs.value == nullptr) {
      return corrupt("node '" + node.name + "' tells the kind of its attributes but has none");
    }
    LQ_RETURN_IF_ERROR(check_known_enums(n->attrs).with_context("node '" + node.name + "'"));
    make_printable(n->attrs);
    node.attrs = std::move(n->attrs);
    node.subgraphs = std::move(n->subgraphs);
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

Status unpack_inputs(schema::ModelT& m, ModelIr& ir) {
  for (auto& input : m.inputs) {
    input->name = printable(std::move(input->name));
    if (input->preprocessing) {
      LQ_RETURN_IF_ERROR(check_preprocessing(*input->preprocessing).with_context("input '" + input->name + "'"));
    }
    ir.inputs.push_back(std::move(*input));
  }
  return {};
}

}  // namespace

bool is_model_file(const void* data, size_t size) {
  return size >= sizeof(FileHeader) && std::memcmp(static_cast<const char*>(data) + 4, "LQM1", 4) == 0;
}

Result<ModelIr> read_model(const Bytes& file) {
  LQ_ASSIGN_OR_RETURN(const Sections sections, find_sections(file));
  flatbuffers::Verifier verifier(sections.graph, sections.graph_size, /*max_depth=*/16, /*max_tables=*/4000000);
  if (!schema::VerifyModelBuffer(verifier)) return corrupt(std::string("the graph is not a valid flatbuffer") + kDamaged);
  const schema::Model& flat = *schema::GetModel(sections.graph);
  if (referenced_bytes(flat) > sections.graph_size) return corrupt(std::string("parts of the graph overlap") + kDamaged);
  if (!wide_vectors_aligned(flat)) return corrupt(std::string("the graph has a misaligned shape") + kDamaged);
  LQ_RETURN_IF_ERROR(check_version(flat));
  LQ_ASSIGN_OR_RETURN(const std::vector<Bytes> buffers, read_buffers(flat, sections, file));

  schema::ModelT m;
  flat.UnPackTo(&m);
  ModelIr ir;
  for (auto& g : m.subgraphs) {
    LQ_ASSIGN_OR_RETURN(Graph graph, unpack_graph(*g, buffers));
    ir.graphs.push_back(std::move(graph));
  }
  ir.producer = std::move(m.producer);
  ir.options = std::move(m.options);
  ir.semantics_version = m.semantics_version;
  ir.arithmetic = m.arithmetic;
  LQ_RETURN_IF_ERROR(unpack_inputs(m, ir));
  if (m.golden) ir.golden = std::move(*m.golden);
  for (auto& entry : m.metadata) ir.metadata.push_back(std::move(*entry));
  LQ_RETURN_IF_ERROR(verify(ir));
  return ir;
}

Result<ModelIr> read_model_file(const std::string& path) {
  LQ_ASSIGN_OR_RETURN(const Bytes file, map_file(path));
  Result<ModelIr> model = read_model(file);
  if (!model.ok()) return model.status().with_context(path);
  return model;
}

}  // namespace lq
