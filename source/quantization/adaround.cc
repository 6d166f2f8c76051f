#include "quantization/adaround.h"

#include <algorithm>
#include <cmath>

#include "runtime/thread_pool.h"

namespace lq::quantization {
namespace {

constexpr int kSweeps = 20;
constexpr int kLargest = 127;

/// The matrix the error is measured with, for one group.
std::vector<double> shrunk(const WeightMoments& moments, size_t group, double input_scale) {
  std::vector<double> h = moments.covariance[group];
  const double keep = double(moments.rows) / double(moments.rows + moments.size);
  for (size_t i = 0; i < moments.size; ++i) {
    for (size_t j = 0; j < moments.size; ++j) {
      double& v = h[i * moments.size + j];
      v = i == j ? v + input_scale * input_scale / 12 : v * keep;
    }
  }
  return h;
}

/// One output channel: q and error in units of its scale.
class Channel {
 public:
  Channel(const std::vector<double>& h, size_t size) : h_(h), error_(size), gradient_(size), other_(size) {}

  /// `exact[k]`: the weight divided by the scale; q: its nearest rounding, improved in place.
  void improve(const std::vector<double>& exact, std::vector<int>& q) {
    const size_t size = exact.size();
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    for (size_t k = 0; k < size; ++k) {
      error_[k] = double(q[k]) - exact[k];
      other_[k] = std::clamp(error_[k] > 0 ? q[k] - 1 : q[k] + 1, -kLargest, kLargest);
      if (error_[k] == 0) other_[k] = q[k];  // on the grid: there is nothing to choose
    }
    for (size_t k = 0; k < size; ++k) add(k, error_[k]);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      for (size_t k = 0; k < size; ++k) {
        const double step = double(other_[k] - q[k]);
        // (δ + s·e_k)ᵀH(δ + s·e_k) − δᵀHδ
        const double change = 2 * step * gradient_[k] + step * step * h_[k * size + k];
        if (!(change < -1e-9 * h_[k * size + k])) continue;
        std::swap(other_[k], q[k]);
        add(k, step);
        changed = true;
      }
      if (!changed) break;
    }
  }

 private:
  /// gradient = H·δ, kept up to date.
  void add(size_t k, double step) {
    if (step == 0) return;
    const size_t size = gradient_.size();
    const double* row = h_.data() + k * size;
    for (size_t j = 0; j < size; ++j) gradient_[j] += step * row[j];
  }

  const std::vector<double>& h_;
  std::vector<double> error_, gradient_;
  std::vector<int> other_;
};

}  // namespace

Status adaround(const std::vector<float>& weights, const std::vector<float>& scale, const WeightLayout& layout,
                const WeightMoments& moments, double input_scale, const std::vector<double>& largest_sum, int threads,
                std::vector<int8_t>& rounded) {
  const size_t groups = moments.covariance.size();
  if (groups == 0 || layout.size != moments.size || layout.channels % groups != 0) return {};
  LQ_ASSIGN_OR_RETURN(const auto pool, ThreadPool::create(threads));
  const size_t of_group = layout.channels / groups;
  const auto improve = [&](const std::vector<double>& h, size_t m) {
    Channel channel(h, layout.size);
    std::vector<double> exact(layout.size);
    std::vector<int> q(layout.size);
    for (size_t k = 0; k < layout.size; ++k) {
      exact[k] = std::clamp(double(weights[layout.at(m, k)]) / double(scale[m]), -127.0, 127.0);
      q[k] = rounded[layout.at(m, k)];
    }
    channel.improve(exact, q);
    double sum = 0;
    for (int v : q) sum += std::abs(v);
    if (sum > largest_sum[m]) return;
    for (size_t k = 0; k < layout.size; ++k) rounded[layout.at(m, k)] = int8_t(q[k]);
  };
  for (size_t g = 0; g < groups; ++g) {
    const std::vector<double> h = shrunk(moments, g, input_scale);
    pool->parallel_for(int64_t(of_group), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t m = begin; m < end; ++m) improve(h, g * of_group + size_t(m));
    });
  }
  return {};
}

}  // namespace lq::quantization
