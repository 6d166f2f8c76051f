#include <cstring>

#include "base/file.h"
#include "format/checksum.h"
#include "format/compact.h"
#include "format/flat_checks.h"
#include "format/model_file.h"
#include "format/pack.h"
#include "format/palette.h"
#include "graph/built_ops.h"
#include "graph/op_def.h"

namespace lq {
namespace {

constexpr const char* kDamaged = "; the file is damaged, make or copy it again";

struct Sections {
  const uint8_t* graph;  // 16-byte-aligned
  size_t graph_size;
  const uint8_t* weights;
  size_t weights_size;
  uint64_t weights_checksum;  // looked at once the file's version is known to have it
  Bytes aligned_copy;         // holds the graph when the file's address did not suit
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
    return unsupported("has a header of " + std::to_string(h.header_size) +
                       " bytes, this version knows 64; update libquant");
  }
  const uint64_t size = file.size();
  if (!inside(h.graph_offset, h.graph_size, size) || !inside(h.weights_offset, h.weights_size, size)) {
    return corrupt("is truncated: the header tells of " + std::to_string(h.weights_offset + h.weights_size) +
                   " bytes, the file has " + std::to_string(size) + kDamaged);
  }
  // One place for each byte, so that none escapes the checksums: header, graph, at most 63 zeros, weights.
  const uint64_t graph_end = h.graph_offset + h.graph_size;
  if (h.graph_offset != sizeof(FileHeader) || h.weights_offset != align_up(graph_end) ||
      h.weights_offset + h.weights_size != size) {
    return corrupt(std::string("its sections do not follow each other up to the end of the file") + kDamaged);
  }
  for (uint64_t i = graph_end; i < h.weights_offset; ++i) {
    if (file.data()[i] != 0) return corrupt(std::string("the gap behind the graph is not empty") + kDamaged);
  }
  // The flatbuffers library takes larger buffers for a programming error.
  if (h.graph_size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return corrupt(std::string("the graph is larger than 2 GB") + kDamaged);
  Sections s{file.data() + h.graph_offset, size_t(h.graph_size), file.data() + h.weights_offset,
             size_t(h.weights_size),       h.weights_checksum,   {}};
  if (h.graph_checksum != checksum64(s.graph, s.graph_size))
    return corrupt(std::string("graph checksum differs") + kDamaged);
  if (reinterpret_cast<uintptr_t>(s.graph) % 16 != 0) {
    LQ_ASSIGN_OR_RETURN(s.aligned_copy, Bytes::copy_of(s.graph, s.graph_size));
    s.graph = s.aligned_copy.data();
  }
  return s;
}

Status check_version(const schema::Model& model) {
  const uint32_t version = model.min_reader_version();
  if (version < kFileVersion || version > kShortFileVersion) {
    const std::string what = "has file version " + std::to_string(version) + ", this library reads versions " +
                             std::to_string(kFileVersion) + " and " + std::to_string(kShortFileVersion);
    return unsupported(what +
                       (version > kFileVersion ? "; update libquant" : "; make the model again with `quantize`"));
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
  if (sections.weights_checksum != checksum64(sections.weights, sections.weights_size)) {
    return corrupt(std::string("weights checksum differs") + kDamaged);
  }
  std::vector<Bytes> buffers;
  if (model.buffers() == nullptr) return buffers;
  // Every buffer shares one owner: the file, whoever holds it.
  auto owner = std::make_shared<Bytes>(file);
  uint64_t end = 0;  // buffers follow each other, so they neither overlap nor reorder
  for (flatbuffers::uoffset_t i = 0; i < model.buffers()->size(); ++i) {
    const schema::Buffer& b = *model.buffers()->Get(i);
    const std::string label = "weight buffer " + std::to_string(i);
    const bool palette = b.encoding() == schema::Encoding::Palette;
    if (b.file() != 0 || b.offset() != 0 || (b.encoding() != schema::Encoding::Raw && !palette)) {
      return unsupported(label + " uses an encoding this version does not read; update libquant");
    }
    const uint64_t offset = align_up(end, buffer_alignment(b.size()));
    if (!inside(offset, b.size(), sections.weights_size))
      return corrupt(label + " lies outside the weight section" + kDamaged);
    if (palette) {
      Result<Bytes> plain = palette_decoded(sections.weights + offset, size_t(b.size()));
      if (!plain.ok()) return plain.status().with_context(label);
      buffers.push_back(std::move(*plain));
    } else {
      buffers.emplace_back(sections.weights + offset, size_t(b.size()), owner);
    }
    end = offset + b.size();
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
    return unsupported("tensor '" + tensor.name + "' has the unknown data type " + std::to_string(int(t.dtype)) +
                       "; update libquant");
  }
  if (t.is_state)
    return unsupported("tensor '" + tensor.name + "' is a state, which this version does not have; update libquant");
  tensor.dtype = t.dtype;
  tensor.ranked = !t.unranked;
  tensor.shape = std::move(t.shape);
  for (std::string& name : t.dim_names) tensor.dim_names.push_back(printable(std::move(name)));
  if (t.buffer != -1) {
    if (t.buffer < 0 || size_t(t.buffer) >= buffers.size()) {
      return corrupt("tensor '" + tensor.name + "' names weight buffer " + std::to_string(t.buffer) + " of " +
                     std::to_string(buffers.size()));
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
      return unsupported("node '" + n->name + "' has version " + std::to_string(n->op_version) +
                         " of its operator, this library knows 1; update libquant");
    }
    const std::string op = op_name(n->op);
    if (!is_op_built(n->op) && n->op != Op::Undefined && !op.empty()) {
      return unsupported("node '" + n->name + "' is a " + op +
                         ", which this build of libquant leaves out; build it with " + op + " in LIBQUANT_OPS");
    }
    if (find_op(n->op) == nullptr) {
      return unsupported("node '" + n->name + "' is the unknown operator " + std::to_string(int(n->op)) +
                         "; update libquant");
    }
    Node node;
    node.op = n->op;
    node.name = std::move(n->name);
    node.inputs = std::move(n->inputs);
    node.outputs = std::move(n->outputs);
    if (n->attrs.type > schema::Attrs::MAX)
      return unsupported("node '" + node.name + "' has unknown attributes; update libquant");
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
  if (!schema::VerifyModelBuffer(verifier))
    return corrupt(std::string("the graph is not a valid flatbuffer") + kDamaged);
  const schema::Model& flat = *schema::GetModel(sections.graph);
  if (referenced_bytes(flat) > sections.graph_size)
    return corrupt(std::string("parts of the graph overlap") + kDamaged);
  if (!wide_vectors_aligned(flat)) return corrupt(std::string("the graph has a misaligned shape") + kDamaged);
  LQ_RETURN_IF_ERROR(check_version(flat));
  LQ_ASSIGN_OR_RETURN(const std::vector<Bytes> buffers, read_buffers(flat, sections, file));

  schema::ModelT m;
  flat.UnPackTo(&m);
  ModelIr ir;
  for (auto& g : m.subgraphs) {
    LQ_ASSIGN_OR_RETURN(Graph graph, unpack_graph(*g, buffers));
    expand(graph);
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
