#include "fuzz/mutate.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "format/checksum.h"
#include "format/model_file.h"
#include "format/pack.h"

namespace lq::fuzz {
namespace {

using Random = std::mt19937_64;

FileHeader header_of(const std::string& file) {
  FileHeader h;
  std::memcpy(&h, file.data(), sizeof h);
  return h;
}

/// Every checksum computed anew.
void seal(std::string& file) {
  FileHeader h = header_of(file);
  if (h.graph_offset <= file.size() && h.graph_size <= file.size() - h.graph_offset) {
    h.graph_checksum = checksum64(file.data() + h.graph_offset, h.graph_size);
  }
  if (h.weights_offset <= file.size() && h.weights_size <= file.size() - h.weights_offset) {
    h.weights_checksum = checksum64(file.data() + h.weights_offset, h.weights_size);
  }
  h.header_checksum = checksum64(&h, offsetof(FileHeader, header_checksum));
  std::memcpy(file.data(), &h, sizeof h);
}

uint8_t hostile_byte(uint8_t old, Random& random) { return uint8_t(random() % 3 ? random() % 24 : random()); }
float hostile_float(float old, Random& random) {
  using Limits = std::numeric_limits<float>;
  const float values[] = {0,
                          -0.0f,
                          1,
                          -1,
                          Limits::quiet_NaN(),
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::denorm_min(),
                          Limits::min(),
                          Limits::max(),
                          Limits::lowest(),
                          1e-20f,
                          1e20f,
                          old * 2,
                          -old,
                          0.5f,
                          1.0f / 3};
  return values[random() % std::size(values)];
}

/// Collects every field of a graph as a function that damages it, then calls a few.
class Fields {
 public:
  explicit Fields(Random& random) : random_(random) {}
  void visit(schema::ModelT& m);
  void damage() {
    if (!all_.empty()) all_[random_() % all_.size()]();
  }

 private:
  void add(int32_t& v) {
    all_.push_back([this, &v] { v = int32_t(uint32_t(hostile_wrapping(uint64_t(int64_t(v))))); });
  }
  void add(int64_t& v) {
    all_.push_back([this, &v] { v = int64_t(hostile_wrapping(uint64_t(v))); });
  }
  void add(uint64_t& v) {
    all_.push_back([this, &v] { v = hostile_wrapping(v); });
  }
  void add(uint32_t& v) {
    all_.push_back([this, &v] { v = uint32_t(hostile_wrapping(v)); });
  }
  void add(uint16_t& v) {
    all_.push_back([this, &v] { v = uint16_t(hostile_wrapping(v)); });
  }
  void add(uint8_t& v) {
    all_.push_back([this, &v] { v = hostile_byte(v, random_); });
  }
  void add(float& v) {
    all_.push_back([this, &v] { v = hostile_float(v, random_); });
  }
  void add(bool& v) {
    all_.push_back([&v] { v = !v; });
  }
  void add(std::string& v) {
    all_.push_back([this, &v] { v = random_() % 2 ? std::string() : v + v; });
  }
  template <typename E>
  requires std::is_enum_v<E>
  void add(E& v) {
    all_.push_back([this, &v] { v = E(random_() % 3 ? random_() % 190 : random_()); });
  }
  /// Every element, and the list itself: shorter, longer, empty, its elements exchanged.
  template <typename T>
  void add(std::vector<T>& v) {
    for (T& element : v) add(element);
    add_list(v);
  }
  template <typename T>
  void add_list(std::vector<T>& v) {
    all_.push_back([this, &v] {
      switch (random_() % 4) {
        case 0:
          v.clear();
          break;
        case 1:
          v.resize(v.size() + 1 + random_() % 3);
          break;
        case 2:
          if (!v.empty()) v.pop_back();
          break;
        default:
          if (v.size() > 1) std::swap(v[random_() % v.size()], v[random_() % v.size()]);
          break;
      }
    });
  }
  /// Reordering, dropping and repeating of tables; empty places are not allowed.
  template <typename T>
  void add_tables(std::vector<std::unique_ptr<T>>& v) {
    all_.push_back([this, &v] {
      if (v.empty()) return;
      const size_t i = random_() % v.size(), k = random_() % v.size();
      switch (random_() % 4) {
        case 0:
          std::swap(v[i], v[k]);
          break;
        case 1:
          v.pop_back();
          break;
        case 2:
          v.erase(v.begin() + std::ptrdiff_t(i));
          break;
        default:
          *v[i] = T(*v[k]);
          break;
      }
    });
  }
  uint64_t hostile_wrapping(uint64_t v) {
    const uint64_t values[] = {0,
                               1,
                               2,
                               3,
                               5,
                               64,
                               255,
                               65535,
                               1u << 20,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               1ull << 40,
                               ~0ull,
                               ~0ull - 1,
                               1ull << 63,
                               (1ull << 63) - 1,
                               v + 1,
                               v - 1,
                               v * 2,
                               0 - v,
                               random_() % 64,
                               random_()};
    return values[random_() % std::size(values)];
  }
  void visit(schema::TensorT& t);
  void visit(schema::NodeT& n);

  Random& random_;
  std::vector<std::function<void()>> all_;
};

void Fields::visit(schema::TensorT& t) {
  add(t.name), add(t.dtype), add(t.shape), add(t.dim_names), add(t.buffer), add(t.unranked), add(t.is_state);
  if (t.quant) {
    schema::QuantParamsT& q = *t.quant;
    add(q.dtype), add(q.qmin), add(q.qmax), add(q.granularity), add(q.axis), add(q.block_size), add(q.scale),
        add(q.zero_point);
    add(q.scale_source), add(q.scale_ref), add(q.scale_dtype), add(q.multiplier), add(q.shift);
    all_.push_back([&t] { t.quant.reset(); });
  } else {
    all_.push_back([&t] {
      t.quant = std::make_unique<schema::QuantParamsT>();
      t.quant->dtype = t.dtype, t.quant->qmin = -128, t.quant->qmax = 127, t.quant->scale = {0.1f};
    });
  }
  if (t.range) add(t.range->min), add(t.range->max);
}

void Fields::visit(schema::NodeT& n) {
  add(n.op), add(n.op_version), add(n.name), add(n.inputs), add(n.outputs), add(n.subgraphs);
  if (auto* a = n.attrs.AsConvAttrs()) {
    add(a->kernel_shape), add(a->strides), add(a->pads), add(a->dilations), add(a->groups), add(a->auto_pad);
    add(a->output_padding), add(a->output_shape);
  }
  if (auto* a = n.attrs.AsPoolAttrs()) {
    add(a->kernel_shape), add(a->strides), add(a->pads), add(a->dilations), add(a->auto_pad), add(a->ceil_mode);
    add(a->count_include_pad), add(a->storage_order);
  }
  if (auto* a = n.attrs.AsGemmAttrs()) add(a->alpha), add(a->beta), add(a->trans_a), add(a->trans_b);
  if (auto* a = n.attrs.AsEinsumAttrs()) add(a->equation);
  if (auto* a = n.attrs.AsNormAttrs()) add(a->epsilon), add(a->axis);
  if (auto* a = n.attrs.AsCastAttrs()) add(a->to);
  if (auto* a = n.attrs.AsAxisAttrs()) add(a->axis);
  if (auto* a = n.attrs.AsArgMaxAttrs()) add(a->axis), add(a->keepdims), add(a->select_last_index);
  if (auto* a = n.attrs.AsTopKAttrs()) add(a->axis), add(a->largest), add(a->sorted);
  if (auto* a = n.attrs.AsTransposeAttrs()) add(a->perm);
  if (auto* a = n.attrs.AsBlockAttrs()) add(a->block_size), add(a->crd);
  if (auto* a = n.attrs.AsResizeAttrs()) {
    add(a->mode), add(a->coordinate_mode), add(a->nearest_mode), add(a->cubic_coeff_a), add(a->exclude_outside);
    add(a->extrapolation_value), add(a->antialias), add(a->aspect_policy), add(a->axes), add(a->roi);
  }
  if (auto* a = n.attrs.AsRnnAttrs()) {
    add(a->hidden_size), add(a->direction), add(a->batch_first), add(a->linear_before_reset), add(a->clip),
        add(a->activations);
    add(a->activation_alpha), add(a->activation_beta), add(a->input_forget);
  }
  all_.push_back([&n] { n.attrs.Reset(); });
}

void Fields::visit(schema::ModelT& m) {
  add(m.min_reader_version), add(m.semantics_version), add(m.arithmetic), add_tables(m.subgraphs),
      add_tables(m.buffers);
  for (auto& b : m.buffers) add(b->file), add(b->offset), add(b->size), add(b->encoding);
  for (auto& g : m.subgraphs) {
    add(g->inputs), add(g->outputs), add_tables(g->tensors), add_tables(g->nodes);
    for (auto& t : g->tensors) visit(*t);
    for (auto& n : g->nodes) visit(*n);
  }
}

/// Constants hold shapes, axes and counts as well: one number of one of them.
void damage_constant(const flatbuffers::Vector<flatbuffers::Offset<schema::Buffer>>& buffers, std::string& weights,
                     Random& random) {
  const int64_t values[] = {-1, 0, 1, 2, 1000, 100000, INT32_MAX, INT64_MAX, INT64_MIN, int64_t(1) << 40};
  const uint64_t chosen = random() % buffers.size();
  uint64_t end = 0;
  for (flatbuffers::uoffset_t i = 0; i <= chosen; ++i) {
    const uint64_t size = buffers[i]->size(), offset = align_up(end, buffer_alignment(size));
    end = offset + size;
    if (i < chosen || size < 8) continue;
    std::memcpy(weights.data() + offset + random() % (size / 8) * 8, &values[random() % std::size(values)], 8);
  }
}

}  // namespace

std::string mutate_bytes(std::string file, Random& random) {
  const FileHeader h = header_of(file);
  const int changes = 1 + int(random() % 4);
  for (int i = 0; i < changes; ++i) {
    size_t at = random() % file.size();
    if (random() % 4 != 0)
      at = h.graph_offset + random() % h.graph_size;  // most of a file is weights: nothing to find there
    switch (random() % 3) {
      case 0:
        file[at] = char(uint8_t(file[at]) ^ (1u << random() % 8));
        break;
      case 1:
        file[at] = char(random());
        break;
      default:
        file[at] = "\x00\x01\x7f\x80\xff"[random() % 5];
        break;
    }
  }
  if (random() % 64 == 0) file.resize(sizeof(FileHeader) + random() % (file.size() - sizeof(FileHeader)));
  seal(file);
  return file;
}

std::string mutate_fields(const std::string& file, Random& random) {
  FileHeader h = header_of(file);
  std::string weights = file.substr(h.weights_offset, h.weights_size);
  schema::ModelT m;
  schema::GetModel(file.data() + h.graph_offset)->UnPackTo(&m);
  const int changes = 1 + int(random() % 3);
  for (int i = 0; i < changes; ++i) {
    Fields fields(random);  // anew: a change may have moved the others
    fields.visit(m);
    fields.damage();
  }
  if (random() % 3 == 0) damage_constant(*schema::GetModel(file.data() + h.graph_offset)->buffers(), weights, random);
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &m));
  h.graph_size = builder.GetSize();
  h.weights_offset = align_up(h.graph_offset + h.graph_size);
  std::string out(h.weights_offset, '\0');
  std::memcpy(out.data(), &h, sizeof h);
  std::memcpy(out.data() + h.graph_offset, builder.GetBufferPointer(), builder.GetSize());
  out += weights;
  seal(out);
  return out;
}

}  // namespace lq::fuzz
