// Einsum: operands are contracted from left to right, two at a time (one operand alone meets the scalar 1). A
// contraction is a batched matrix product [batch, M, K]·[batch, K, N], K row-major over the summed labels in the order
// they first occur. float32 runs on the gemm_f32 panels; float64, which real models do not use, on plain loops. Both:
// ascending k from 0, one fused multiply-add each, + 0 at the end.
#include <cmath>
#include <cstring>
#include <map>

#include "graph/geometry.h"
#include "runtime/ops/data_copy.h"
#include "runtime/ops/panel_f32.h"
#include "runtime/ops/scratch.h"
#include "runtime/ops/tables.h"

namespace lq {
namespace {

// A copy between a labelled tensor and its matrix form; `needed` is false when the two coincide.
struct LabelCopy {
  StridedLoop<2> loop;  // [0] to, [1] from
  bool needed = true;
};

struct Contraction {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int input = -1;  // right operand, a step input; −1: the scalar 1
  LabelCopy left, right, result;
  size_t left_scratch = 0, right_scratch = 0, result_scratch = 0;  // matrix forms
  size_t value_scratch = 0;  // labelled result; unused by the last contraction, which writes the output
};

struct EinsumParams : NamedParams {
  const KernelRow* gemm = nullptr;
  std::vector<Contraction> contractions;
  size_t panel_scratch = 0;  // packed right operand of one batch
  size_t zeros_scratch = 0;  // start of the chains
};

using Labels = std::vector<int>;
bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

template <typename T>
void copy_labels(const LabelCopy& copy, const T* from, T* to, const RunContext& context) {
  const int inner = copy.loop.rank - 1;
  const int64_t to_stride = copy.loop.strides[0][inner], from_stride = copy.loop.strides[1][inner];
  parallel(context, copy.loop.count, kElementGrain, [&](int64_t begin, int64_t end, int) {
    for_rows(copy.loop, begin, end, [&](const int64_t* at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) to[at[0] + i * to_stride] = from[at[1] + i * from_stride];
    });
  });
}

// The matrix form of an operand: where it lies, or copied into scratch.
template <typename T>
const T* matrix_form(const LabelCopy& copy, const T* from, size_t scratch, const RunContext& context) {
  if (!copy.needed) return from;
  T* to = reinterpret_cast<T*>(context.scratch + scratch);
  copy_labels(copy, from, to, context);
  return to;
}

void multiply(const EinsumParams& params, const Contraction& c, const float* a, const float* b, float* y,
              const RunContext& context) {
  float* packed = reinterpret_cast<float*>(context.scratch + params.panel_scratch);
  float* zeros = reinterpret_cast<float*>(context.scratch + params.zeros_scratch);
  std::fill(zeros, zeros + panel_count(c.n) * kPanelWidth, 0.0f);
  for (int64_t i = 0; i < c.batch; ++i) {
    const float* right = b + i * c.k * c.n;
    const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, c.m * c.k * kPanelWidth));
    parallel(context, panel_count(c.n), grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t panel = begin; panel < end; ++panel) {
        pack_panel(right, c.n, 1, c.k, c.n, panel, packed + panel * c.k * kPanelWidth);
        const PanelProduct product{a + i * c.m * c.k, c.k, packed, c.k, c.n, zeros, 0, y + i * c.m * c.n, c.n};
        run_panels(*params.gemm, product, c.m, panel, panel + 1);
      }
    });
  }
}

void multiply(const EinsumParams&, const Contraction& c, const double* a, const double* b, double* y,
              const RunContext& context) {
  parallel(context, c.batch * c.m, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const double* right = b + row / c.m * c.k * c.n;
      for (int64_t j = 0; j < c.n; ++j) {
        double acc = 0;
        for (int64_t l = 0; l < c.k; ++l) acc = std::fma(a[row * c.k + l], right[l * c.n + j], acc);
        y[row * c.n + j] = acc + 0.0;
      }
    }
  });
}

template <typename T>
Status run_einsum(const Step& step, const RunContext& context) {
  const auto& params = step.params_as<EinsumParams>();
  const T one = 1;
  const T* left = context.input<T>(step, 0);
  for (size_t i = 0; i < params.contractions.size(); ++i) {
    const Contraction& c = params.contractions[i];
    const bool last = i + 1 == params.contractions.size();
    const T* right = c.input < 0 ? &one : context.input<T>(step, size_t(c.input));
    T* value = last ? context.output<T>(step, 0) : reinterpret_cast<T*>(context.scratch + c.value_scratch);
    T* product = c.result.needed ? reinterpret_cast<T*>(context.scratch + c.result_scratch) : value;
    const T* a = matrix_form(c.left, left, c.left_scratch, context);
    multiply(params, c, a, matrix_form(c.right, right, c.right_scratch, context), product, context);
    if (c.result.needed) copy_labels(c.result, product, value, context);
    left = value;
  }
  return {};
}

// Plans one node's contractions.
class Planner {
 public:
  Planner(OpPrepare& p, EinsumParams& params, const EinsumEquation& equation, size_t element_size)
      : p_(p), params_(params), equation_(equation), size_(element_size) {}

  Status run() {
    for (size_t i = 0; i < equation_.inputs.size(); ++i) {
      for (size_t k = 0; k < equation_.inputs[i].size(); ++k) {
        int64_t& dim = dims_.try_emplace(equation_.inputs[i][k], 1).first->second;
        if (p_.input(i).shape[k] != 1) dim = p_.input(i).shape[k];
      }
    }
    Labels left = equation_.inputs[0];
    Shape left_shape = p_.input(0).shape;
    const size_t count = equation_.inputs.size();
    for (size_t i = 1; i < std::max<size_t>(count, 2); ++i) {
      const bool single = count == 1, last = i + 1 >= count;
      const Labels right = single ? Labels{} : equation_.inputs[i];
      const Labels result = last ? equation_.output : kept_labels(left, right, i + 1);
      LQ_RETURN_IF_ERROR(
          add(left, left_shape, right, single ? Shape{} : p_.input(i).shape, result, single ? -1 : int(i)));
      left = result;
      left_shape = extents(result);
    }
    params_.panel_scratch = reserve(panel_bytes_);
    params_.zeros_scratch = reserve(zeros_bytes_);
    return {};
  }

 private:
  // Labels of a and b that a later operand or the output still names.
  Labels kept_labels(const Labels& a, const Labels& b, size_t next) const {
    Labels kept;
    for (const Labels* labels : {&a, &b}) {
      for (int label : *labels) {
        bool later = has(equation_.output, label);
        for (size_t i = next; i < equation_.inputs.size(); ++i) later |= has(equation_.inputs[i], label);
        if (later && !has(kept, label)) kept.push_back(label);
      }
    }
    return kept;
  }
  Shape extents(const Labels& labels) const {
    Shape shape;
    for (int label : labels) shape.push_back(dims_.at(label));
    return shape;
  }
  size_t reserve(size_t bytes) {
    const size_t at = p_.step.scratch_bytes;
    p_.step.scratch_bytes += align_up(bytes);
    return at;
  }
  int64_t product(const Labels& labels) const {
    const Shape shape = extents(labels);
    return dims_product(shape, 0, shape.size());
  }
  // Stride of every label of `order` in a tensor [labels] of `shape`: repeated labels walk its diagonal, extents of 1
  // repeat.
  std::vector<int64_t> strides(const Labels& order, const Labels& labels, const Shape& shape) const {
    const std::vector<int64_t> own = row_major_strides(shape);
    std::vector<int64_t> result;
    for (int label : order) {
      int64_t stride = 0;
      for (size_t i = 0; i < labels.size(); ++i) stride += labels[i] == label && shape[i] != 1 ? own[i] : 0;
      result.push_back(stride);
    }
    return result;
  }
  static void settle(LabelCopy& copy) {
    copy.needed = !(copy.loop.rank == 1 &&
                    (copy.loop.dims[0] == 1 || (copy.loop.strides[0][0] == 1 && copy.loop.strides[1][0] == 1)));
  }

  Status add(const Labels& a, const Shape& a_shape, const Labels& b, const Shape& b_shape, const Labels& out,
             int input) {
    Labels batch, m, n, k;
    for (int label : out) (has(a, label) ? (has(b, label) ? batch : m) : n).push_back(label);
    for (const Labels* labels : {&a, &b}) {
      for (int label : *labels) {
        if (!has(out, label) && !has(k, label)) k.push_back(label);
      }
    }
    const auto join = [](Labels x, const Labels& y, const Labels& z) {
      x.insert(x.end(), y.begin(), y.end());
      x.insert(x.end(), z.begin(), z.end());
      return x;
    };
    Contraction c;
    c.input = input;
    const Labels left = join(batch, m, k), right = join(batch, k, n), result = join(batch, m, n);
    for (const Labels* labels : {&left, &right, &result}) {
      const int64_t count = element_count(extents(*labels));
      if (count < 0 || count > kMaxScratchElements)
        return unsupported("an operand or intermediate result is too large");
    }
    c.batch = product(batch);
    c.m = product(m);
    c.n = product(n);
    c.k = product(k);
    LQ_RETURN_IF_ERROR(
        make_loop<2>(extents(left), {row_major_strides(extents(left)), strides(left, a, a_shape)}, c.left.loop));
    LQ_RETURN_IF_ERROR(
        make_loop<2>(extents(right), {row_major_strides(extents(right)), strides(right, b, b_shape)}, c.right.loop));
    LQ_RETURN_IF_ERROR(make_loop<2>(
        extents(result), {strides(result, out, extents(out)), row_major_strides(extents(result))}, c.result.loop));
    for (LabelCopy* copy : {&c.left, &c.right, &c.result}) settle(*copy);
    const auto room = [&](const LabelCopy& copy) { return copy.needed ? reserve(size_t(copy.loop.count) * size_) : 0; };
    c.left_scratch = room(c.left);
    c.right_scratch = room(c.right);
    c.result_scratch = room(c.result);
    c.value_scratch = reserve(size_t(c.result.loop.count) * size_);
    panel_bytes_ = std::max(panel_bytes_, panel_bytes(c.k, c.n));
    zeros_bytes_ = std::max(zeros_bytes_, panel_bytes(1, c.n));
    params_.contractions.push_back(c);
    return {};
  }

  OpPrepare& p_;
  EinsumParams& params_;
  const EinsumEquation& equation_;
  const size_t size_;
  std::map<int, int64_t> dims_;
  size_t panel_bytes_ = 0, zeros_bytes_ = 0;
};

Status prepare_einsum(OpPrepare& p) {
  const DType dtype = p.input(0).dtype;
  if (dtype != DType::Float32 && dtype != DType::Float64)
    return unsupported(std::string("Einsum does not take ") + dtype_name(dtype));
  std::vector<size_t> ranks;
  for (size_t i = 0; i < p.node.inputs.size(); ++i) {
    if (!p.has_input(i) || p.input(i).dtype != dtype) return invalid_argument("all operands must have the same type");
    if (p.input(i).blocked_axis != -1) return internal_error("blocked tensor at a linear operator");
    ranks.push_back(p.input(i).shape.size());
  }
  LQ_ASSIGN_OR_RETURN(const EinsumEquation equation,
                      parse_einsum(attrs_as<schema::EinsumAttrsT>(p.node).equation, ranks));
  EinsumParams& params = p.make_params<EinsumParams>();
  params.gemm = find_kernel("gemm_f32", p.isa);
  if (params.gemm == nullptr) return internal_error("this build has no gemm_f32 kernel");
  LQ_RETURN_IF_ERROR(Planner(p, params, equation, dtype_size(dtype)).run());
  if (dtype == DType::Float64) return set_kernel(p, params, "einsum", dtype, &run_einsum<double>);
  params.kernel_name = std::string("einsum_f32") + std::strstr(params.gemm->name, "__");
  p.set(params.kernel_name.c_str(), params.gemm->isa, &run_einsum<float>);
  return {};
}

const OpRow kRows[] = {{Op::Einsum, &prepare_einsum}};

}  // namespace

const OpRowTable kEinsumRows = {kRows, int(sizeof(kRows) / sizeof(kRows[0]))};

}  // namespace lq
