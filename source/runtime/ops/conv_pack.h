// Weights into the panels of conv_kernels.h, and int8 / float rows into strips.
#pragma once
#include "runtime/ops/conv_plan.h"

namespace lq {

/// Panels of every phase and tile, plan.weight_total elements. `w` in canonical order.
void pack_conv_s16(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int16_t* out);
/// Also the sum of each slot's weights in each phase, [phase][slot], modulo 2^32.
void pack_conv_bytes(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int8_t* out, int32_t* sums);
/// The step forms, in natural order: [blocks][taps][2][width][4], a tail filled up to 8 channels. `sums` may be null.
void pack_conv_steps(const ConvPlan& plan, const WeightStrides& strides, const int8_t* w, int8_t* out, int32_t* sums);
void pack_conv_f32(const ConvPlan& plan, const WeightStrides& strides, const float* w, float* out);

/// Pixels of int8 as int16 without zero point.
struct WidenPixels {
  int32_t zero_point;
  WidenS8Fn widen;
  void operator()(const int8_t* x, ptrdiff_t x_step, int16_t* y, int64_t pixels) const {
    widen({x, x_step, y, pixels, zero_point});
  }
};
/// Pixels of int16, which have no zero point, as they are.
struct CopyPixels {
  void operator()(const int16_t* x, ptrdiff_t x_step, int16_t* y, int64_t pixels) const;
};

/// Output rows [row, row + strip.rows) of image `x` (the blocks of one image, NCHWc8) as int16 without zero point.
void fill_strip_s16(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int8_t* x, int64_t row,
                    const WidenPixels& convert, int16_t* strip);
void fill_strip_s16(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int16_t* x, int64_t row,
                    const CopyPixels& convert, int16_t* strip);
/// The same for plan.joined: rows of [pixel][channel]. Writes up to 8 elements behind the strip.
void fill_strip_joined(const ConvShape& s, const ConvPhase& phase, const int8_t* x, int64_t row,
                       const WidenPixels& convert, int16_t* strip);
void fill_strip_joined(const ConvShape& s, const ConvPhase& phase, const int16_t* x, int64_t row,
                       const CopyPixels& convert, int16_t* strip);
/// Weights in the order plan.joined takes them: [output][kernel row][kernel column][channel].
std::vector<int8_t> join_weights(const ConvShape& s, const int8_t* w);
/// The same as bytes of a form (product_quant.h); `offset` is used if the form has one.
void fill_strip_bytes(const ConvShape& s, const ConvPhase& phase, int64_t blocks, const int8_t* x, int64_t row,
                      int32_t zero_point, ProductForm form, OffsetU8Fn offset, uint8_t* strip);
/// The same for floats. `channel`: the first of `channels` to take; not a multiple of 8 only with `gather`.
void fill_strip_f32(const ConvShape& s, const ConvPhase& phase, int64_t channel, int64_t channels, const float* x,
                    int64_t row, float* strip);

/// Rows of the strip of output row `row` on that lie inside the image: [begin, end), reading from input row `src` on.
struct StripRows {
  int64_t begin, end, src;
};
StripRows strip_rows(const ConvShape& s, const ConvPhase& phase, int64_t row);

/// Columns of a strip row that lie inside the image: [begin, end), reading from column `src` on.
struct StripColumns {
  int64_t begin, end, src;
};
StripColumns strip_columns(const ConvShape& s, const ConvStrip& strip);

}  // namespace lq
