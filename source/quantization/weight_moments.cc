#include "quantization/weight_moments.h"

#include <algorithm>
#include <cmath>

#include "graph/op_def.h"
#include "runtime/thread_pool.h"

namespace lq::quantization {
namespace {

constexpr size_t kPositions = 32;  // a sample
constexpr size_t kLargestColumn =
    4608;                           // 512 channels · 3 · 3; beyond, a covariance takes more memory than it is worth
constexpr size_t kFewestRows = 32;  // below, nothing is known about a product
constexpr size_t kMostColumnFloats = size_t(1) << 27;  // 512 MB

/// One watched product: where its input comes from and how columns are cut from it.
struct Watched {
  int node = 0;
  bool is_conv = false;
  ProductColumns columns;
};

/// Evenly spaced picks of [0, count).
std::vector<size_t> picks(size_t count, size_t positions) {
  std::vector<size_t> result;
  const size_t n = std::min(count, positions);
  for (size_t i = 0; i < n; ++i) result.push_back((2 * i + 1) * count / (2 * n));
  return result;
}

/// Rows of a [.., K] matrix.
std::vector<float> matrix_rows(const float* x, const Shape& shape, size_t size, size_t positions) {
  std::vector<float> rows;
  const size_t count = size_t(element_count(shape)) / size;
  for (size_t p : picks(count, positions)) rows.insert(rows.end(), x + p * size, x + (p + 1) * size);
  return rows;
}

/// Columns of im2col, all groups of a position one after the other; outside the image 0.
std::vector<float> conv_columns(const float* x, const Shape& shape, const WindowGeometry& g, size_t positions) {
  const auto out_h = size_t(g.output[0]), out_w = size_t(g.output[1]);
  std::vector<float> rows;
  const auto channels = shape[1], height = shape[2], width = shape[3];
  for (size_t p : picks(size_t(shape[0]) * out_h * out_w, positions)) {
    const auto n = int64_t(p / (out_h * out_w)), oy = int64_t(p / out_w % out_h), ox = int64_t(p % out_w);
    for (int64_t c = 0; c < channels; ++c) {
      const float* plane = x + (n * channels + c) * height * width;
      for (int64_t ky = 0; ky < g.kernel[0]; ++ky) {
        const int64_t y = oy * g.strides[0] - g.pads_begin[0] + ky * g.dilations[0];
        for (int64_t kx = 0; kx < g.kernel[1]; ++kx) {
          const int64_t xx = ox * g.strides[1] - g.pads_begin[1] + kx * g.dilations[1];
          const bool inside = y >= 0 && y < height && xx >= 0 && xx < width;
          rows.push_back(inside ? plane[y * width + xx] : 0.0f);
        }
      }
    }
  }
  return rows;
}

/// Covariance of columns [first, first + size) of the rows, in double. A strip of its rows at a time, which stays in
/// the cache while all columns pass by.
std::vector<double> covariance(const std::vector<const float*>& rows, size_t first, size_t size, ThreadPool& pool) {
  constexpr size_t kStrip = 16;
  std::vector<double> mean(size, 0.0), result(size * size, 0.0), centred(rows.size() * size);
  for (const float* row : rows) {
    for (size_t i = 0; i < size; ++i) mean[i] += double(row[first + i]);
  }
  for (double& m : mean) m /= double(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < size; ++i) centred[r * size + i] = double(rows[r][first + i]) - mean[i];
  }
  const auto strip = [&](size_t from, size_t to) {
    for (size_t r = 0; r < rows.size(); ++r) {
      const double* row = centred.data() + r * size;
      for (size_t i = from; i < to; ++i) {
        double* out = result.data() + i * size;
        for (size_t j = 0; j <= i; ++j) out[j] += row[i] * row[j];
      }
    }
  };
  pool.parallel_for(int64_t((size + kStrip - 1) / kStrip), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t s = begin; s < end; ++s) strip(size_t(s) * kStrip, std::min(size, size_t(s + 1) * kStrip));
  });
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j <= i; ++j) result[j * size + i] = result[i * size + j] /= double(rows.size());
  }
  return result;
}

/// What can be watched about node `n`; groups = 0: nothing.
Watched describe(const Graph& graph, int n) {
  Watched w;
  w.node = n;
  w.columns.groups = 0;
  const Node& node = graph.nodes[size_t(n)];
  if (!is_weight_product(graph, node) || !is_float_constant(graph, node.input(1))) return w;
  const Shape& weight = graph.tensor(node.inputs[1]).shape;
  if (node.op == Op::Conv && weight.size() == 4) {
    w.is_conv = true;
    w.columns.groups = size_t(std::max(attrs_as<schema::ConvAttrsT>(node).groups, 1));
    w.columns.size = size_t(weight[1] * weight[2] * weight[3]);
  } else if (node.op == Op::MatMul || (node.op == Op::Gemm && !attrs_as<schema::GemmAttrsT>(node).trans_a)) {
    w.columns.groups = 1;
    const bool rows_are_channels = node.op == Op::Gemm && attrs_as<schema::GemmAttrsT>(node).trans_b;
    w.columns.size = size_t(weight[rows_are_channels ? 1 : 0]);
  }
  if (w.columns.size > kLargestColumn) w.columns.groups = 0;
  return w;
}

/// Positions a sample may contribute so that all columns together stay within kMostColumnFloats.
size_t positions_of(const std::vector<Watched>& watched, size_t samples) {
  size_t length = 0;
  for (const Watched& w : watched) length += w.columns.groups * w.columns.size;
  return std::clamp<size_t>(kMostColumnFloats / std::max<size_t>(length * samples, 1), 1, kPositions);
}

std::vector<float> columns_of(const Graph& graph, const Watched& w, const float* x, const Shape& shape,
                              size_t positions) {
  if (!w.is_conv) return matrix_rows(x, shape, w.columns.size, positions);
  const Node& node = graph.nodes[size_t(w.node)];
  const Shape& weight = graph.tensor(node.inputs[1]).shape;
  const auto geometry = conv_geometry(attrs_as<schema::ConvAttrsT>(node), shape, weight);
  return geometry.ok() && shape.size() == 4 ? conv_columns(x, shape, *geometry, positions) : std::vector<float>();
}

}  // namespace

std::vector<const float*> ProductColumns::rows() const {
  std::vector<const float*> result;
  const size_t length = groups * size;
  for (const auto& values : of_sample) {
    for (size_t i = 0; i + length <= values.size(); i += length) result.push_back(values.data() + i);
  }
  return result;
}

Result<std::map<int, ProductColumns>> collect_columns(const ModelIr& model, const PrecisionPlan& plan,
                                                      const calibration::DataSource& source,
                                                      const MeasureOptions& options) {
  const Graph& graph = model.main();
  std::vector<Watched> watched;
  std::vector<std::string> names;
  ModelIr copy = model;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!is_integer(plan[n].precision)) continue;
    Watched w = describe(graph, int(n));
    if (w.columns.groups == 0) continue;
    // Read through an Identity: a graph input cannot be an output as well, and an input's memory may be reused.
    Tensor value = graph.tensor(graph.nodes[n].inputs[0]);
    value.name = "columns of " + std::to_string(n);
    Node tap;
    tap.op = Op::Identity;
    tap.inputs = {graph.nodes[n].inputs[0]};
    names.push_back(value.name);
    tap.outputs = {copy.main().add_tensor(std::move(value))};
    copy.main().nodes.push_back(std::move(tap));
    w.columns.of_sample.resize(source.size());
    watched.push_back(std::move(w));
  }
  std::map<int, ProductColumns> result;
  if (watched.empty()) return result;
  std::vector<size_t> places;
  LQ_ASSIGN_OR_RETURN(ModelIr part, only_outputs(copy, names, places));
  const auto progress = [&](size_t done, size_t total) {
    if (options.progress) options.progress("reading inputs of products", done, total);
  };
  const size_t positions = positions_of(watched, source.size());
  LQ_RETURN_IF_ERROR(
      run_samples(std::move(part), source, options, progress, [&](size_t sample, int, const Session& session) {
        for (size_t i = 0; i < watched.size(); ++i) {
          size_t count = 0;
          const float* x = float_output(session, places[i], count);
          watched[i].columns.of_sample[sample] =
              columns_of(graph, watched[i], x, session.output(places[i]).shape, positions);
        }
      }));
  for (Watched& w : watched) {
    if (w.columns.rows().size() >= kFewestRows) result[w.node] = std::move(w.columns);
  }
  return result;
}

Result<WeightMoments> moments_of(const ProductColumns& columns, int threads) {
  LQ_ASSIGN_OR_RETURN(const auto pool, ThreadPool::create(threads));
  const std::vector<const float*> rows = columns.rows();
  WeightMoments moments{columns.size, rows.size(), {}};
  for (size_t g = 0; g < columns.groups; ++g)
    moments.covariance.push_back(covariance(rows, g * columns.size, columns.size, *pool));
  return moments;
}

}  // namespace lq::quantization
