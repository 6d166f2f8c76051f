#include "format/flat_checks.h"

#include <cmath>
#include <string>

#include "format/pack.h"

namespace lq {
namespace {

constexpr uint64_t kTableBytes = 4;  // the least a table takes: the offset to its vtable

/// Small lists and strings may be shared.
uint64_t unshared(uint64_t bytes) { return bytes > kMaxSharedBytes ? bytes : 0; }

uint64_t bytes_of(const flatbuffers::String* s) { return s ? unshared(s->size()) : 0; }

template <typename T>
uint64_t bytes_of(const flatbuffers::Vector<T>* v) {
  return v ? unshared(uint64_t(v->size()) * sizeof(T)) : 0;
}

uint64_t bytes_of(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* v) {
  if (!v) return 0;
  uint64_t n = unshared(uint64_t(v->size()) * sizeof(flatbuffers::uoffset_t));
  for (const flatbuffers::String* s : *v) n += bytes_of(s);
  return n;
}

uint64_t bytes_of(const schema::ConvAttrs* a) {
  return bytes_of(a->kernel_shape()) + bytes_of(a->strides()) + bytes_of(a->pads()) + bytes_of(a->dilations()) +
         bytes_of(a->output_padding()) + bytes_of(a->output_shape());
}

}  // namespace

uint64_t attribute_bytes(const schema::Node& n) {
  if (const auto* a = n.attrs_as_ConvAttrs()) return bytes_of(a);
  if (const auto* a = n.attrs_as_PoolAttrs()) {
    return bytes_of(a->kernel_shape()) + bytes_of(a->strides()) + bytes_of(a->pads()) + bytes_of(a->dilations());
  }
  if (const auto* a = n.attrs_as_EinsumAttrs()) return bytes_of(a->equation());
  if (const auto* a = n.attrs_as_TransposeAttrs()) return bytes_of(a->perm());
  if (const auto* a = n.attrs_as_ResizeAttrs()) return bytes_of(a->axes()) + bytes_of(a->roi());
  if (const auto* a = n.attrs_as_RnnAttrs()) {
    return bytes_of(a->activations()) + bytes_of(a->activation_alpha()) + bytes_of(a->activation_beta());
  }
  if (const auto* a = n.attrs_as_CustomAttrs())
    return bytes_of(a->domain()) + bytes_of(a->name()) + bytes_of(a->blob());
  return 0;
}

namespace {

uint64_t tensor_bytes(const schema::Tensor& t) {
  uint64_t n = kTableBytes + bytes_of(t.name()) + bytes_of(t.shape()) + bytes_of(t.dim_names());
  if (const schema::QuantParams* q = t.quant()) {
    n += kTableBytes + bytes_of(q->scale()) + bytes_of(q->zero_point()) + bytes_of(q->second_level_scale()) +
         bytes_of(q->multiplier()) + bytes_of(q->shift());
  }
  return n;
}

uint64_t graph_bytes(const schema::Subgraph& g) {
  uint64_t n = kTableBytes + bytes_of(g.name()) + bytes_of(g.inputs()) + bytes_of(g.outputs());
  if (g.tensors()) {
    for (const schema::Tensor* t : *g.tensors()) n += tensor_bytes(*t);
  }
  if (!g.nodes()) return n;
  for (const schema::Node* node : *g.nodes()) {
    n += kTableBytes + bytes_of(node->name()) + bytes_of(node->inputs()) + bytes_of(node->outputs()) +
         bytes_of(node->subgraphs()) + attribute_bytes(*node);
  }
  return n;
}

uint64_t preprocessing_bytes(const schema::Preprocessing& p) {
  return kTableBytes + bytes_of(p.mean()) + bytes_of(p.std()) + (p.steps() ? p.steps()->size() * kTableBytes : 0);
}

Status newer(const char* what, int value) {
  return unsupported(std::string("uses the unknown ") + what + " " + std::to_string(value) + "; update libquant");
}

template <typename E>
Status check_enum(E value, const char* what) {
  return value > E::MAX ? newer(what, int(value)) : Status();
}

bool aligned(const flatbuffers::Vector<int64_t>* v) {
  return v == nullptr || reinterpret_cast<uintptr_t>(v->Data()) % alignof(int64_t) == 0;
}

}  // namespace

bool wide_vectors_aligned(const schema::Model& m) {
  if (m.golden() && !aligned(m.golden()->shapes())) return false;
  if (!m.subgraphs()) return true;
  for (const schema::Subgraph* g : *m.subgraphs()) {
    if (!g->tensors()) continue;
    for (const schema::Tensor* t : *g->tensors()) {
      if (!aligned(t->shape())) return false;
    }
  }
  return true;
}

uint64_t referenced_bytes(const schema::Model& m) {
  uint64_t n = bytes_of(m.producer()) + bytes_of(m.options()) + bytes_of(m.files());
  if (m.subgraphs()) {
    for (const schema::Subgraph* g : *m.subgraphs()) n += graph_bytes(*g);
  }
  if (m.buffers()) n += m.buffers()->size() * kTableBytes;
  if (m.inputs()) {
    for (const schema::InputInfo* input : *m.inputs()) {
      n += kTableBytes + bytes_of(input->name());
      if (input->preprocessing()) n += preprocessing_bytes(*input->preprocessing());
    }
  }
  if (m.golden()) n += bytes_of(m.golden()->shapes()) + bytes_of(m.golden()->ranks());
  if (m.metadata()) {
    for (const schema::Metadata* entry : *m.metadata())
      n += kTableBytes + bytes_of(entry->key()) + bytes_of(entry->value());
  }
  return n;
}

Status check_known_enums(const schema::AttrsUnion& attrs) {
  if (const auto* a = attrs.AsConvAttrs()) return check_enum(a->auto_pad, "auto_pad");
  if (const auto* a = attrs.AsPoolAttrs()) return check_enum(a->auto_pad, "auto_pad");
  if (const auto* a = attrs.AsCastAttrs()) return check_enum(a->to, "data type");
  if (const auto* a = attrs.AsPadAttrs()) return check_enum(a->mode, "padding mode");
  if (const auto* a = attrs.AsRnnAttrs()) return check_enum(a->direction, "direction");
  const auto* a = attrs.AsResizeAttrs();
  if (!a) return {};
  LQ_RETURN_IF_ERROR(check_enum(a->mode, "resize mode"));
  LQ_RETURN_IF_ERROR(check_enum(a->coordinate_mode, "coordinate mode"));
  LQ_RETURN_IF_ERROR(check_enum(a->nearest_mode, "nearest mode"));
  return check_enum(a->aspect_policy, "aspect policy");
}

Status check_preprocessing(const schema::PreprocessingT& p) {
  LQ_RETURN_IF_ERROR(check_enum(p.color, "color order"));
  LQ_RETURN_IF_ERROR(check_enum(p.layout, "data layout"));
  for (float v : p.mean) {
    if (!std::isfinite(v)) return corrupt("its preprocessing has a mean that is not finite");
  }
  for (float v : p.std) {
    if (!std::isfinite(v) || v == 0) return corrupt("its preprocessing has a std that is 0 or not finite");
  }
  for (const auto& step : p.steps) {
    LQ_RETURN_IF_ERROR(check_enum(step->kind, "preprocessing step"));
    constexpr int kMaxSide = 65536;
    const bool one_side = step->kind == schema::PreprocessKind::ResizeShorter;
    if (step->width < 1 || step->width > kMaxSide || (!one_side && (step->height < 1 || step->height > kMaxSide))) {
      return corrupt("its preprocessing has a size of " + std::to_string(step->width) + "x" +
                     std::to_string(step->height));
    }
  }
  return {};
}

}  // namespace lq
