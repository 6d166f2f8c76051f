// int8 Resize. nearest: values move by exact rational coordinates. linear and cubic: R on Σ w·(q − zp), w the product
// of the axes' Q11 weights (numerics/resample.h), m = s_x / (s_y · 2048^axes). TfCropAndResize's extrapolation value is
// quantized with the output's parameters. Any axes, linear or blocked.
#pragma once
#include "runtime/op.h"

namespace lq {

Status prepare_resize_s8(OpPrepare& p);

}  // namespace lq
