// ConvTranspose as ordinary convolutions: outputs whose position has the same residue modulo the stride see the same
// kernel positions, at fixed distances in the input, so each residue is one phase of the panel engine. Per output the
// taps stay in ascending (kernel row, kernel column) order, which is the canonical order of a float sum.
#include <algorithm>

#include "runtime/ops/conv_run.h"
#include "runtime/ops/product_quant.h"

namespace lq {
namespace {

/// Residues k·d mod s of one axis of a transposed convolution: outputs of a residue share their taps.
struct AxisPhase {
  int64_t first, count;            // first output, outputs (step s)
  std::vector<int64_t> k, offset;  // kernel positions and their input offset
};

std::vector<AxisPhase> axis_phases(int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, int64_t out,
                                   bool* all_covered) {
  std::vector<AxisPhase> phases;
  std::vector<int64_t> residues;
  for (int64_t k = 0; k < kernel; ++k) {
    const int64_t r = k * dilation % stride;
    if (std::find(residues.begin(), residues.end(), r) == residues.end()) residues.push_back(r);
  }
  *all_covered = int64_t(residues.size()) == stride;
  for (int64_t r : residues) {
    AxisPhase p;
    p.first = ((r - pad) % stride + stride) % stride;
    p.count = p.first < out ? (out - 1 - p.first) / stride + 1 : 0;
    for (int64_t k = 0; k < kernel; ++k) {
      if (k * dilation % stride != r) continue;
      p.k.push_back(k);
      p.offset.push_back((p.first + pad - k * dilation) / stride);  // exact: the numerator is a multiple
    }
    phases.push_back(std::move(p));
  }
  return phases;
}

}  // namespace

std::vector<ConvPhase> conv_transpose_phases(const ConvShape& s) {
  bool rows_covered = false, cols_covered = false;
  const auto rows = axis_phases(s.kh, s.sh, s.dh, s.pad_h, s.oh, &rows_covered);
  const auto cols = axis_phases(s.kw, s.sw, s.dw, s.pad_w, s.ow, &cols_covered);
  std::vector<ConvPhase> phases;
  // Outputs no tap reaches are the bias alone: written everywhere first, the other phases overwrite theirs.
  if (!rows_covered || !cols_covered) phases.push_back({s.oh, s.ow, 0, 0, 1, 1, 1, 1, {}, 0, {}});
  for (const AxisPhase& r : rows) {
    for (const AxisPhase& c : cols) {
      ConvPhase phase{r.count, c.count, r.first, c.first, s.sh, s.sw, 1, 1, {}, 0, {}};
      for (size_t i = 0; i < r.k.size(); ++i) {
        for (size_t j = 0; j < c.k.size(); ++j)
          phase.taps.push_back({r.k[i] * s.kw + c.k[j], r.offset[i], c.offset[j]});
      }
      phases.push_back(std::move(phase));
    }
  }
  return phases;
}

Status prepare_conv_transpose(OpPrepare& p) {
  LQ_ASSIGN_OR_RETURN(const ConvShape shape, conv_shape(p, true));
  LQ_ASSIGN_OR_RETURN(const bool integer, check_conv(p, shape));
  p.step.integer = integer && p.input(0).dtype == DType::Int8;
  p.step.macs = saturating_product({shape.batch, shape.ic, shape.ih, shape.iw, shape.ocg, shape.kh, shape.kw});
  return prepare_conv_panels(p, shape, conv_transpose_phases(shape), true, integer);
}

}  // namespace lq
