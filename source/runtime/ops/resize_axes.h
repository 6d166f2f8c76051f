// A Resize node's inputs and attributes -> one ResampleAxis a dimension. Shared by the float and the int8 form.
#pragma once
#include <vector>

#include "numerics/resample.h"
#include "runtime/op.h"

namespace lq {

/// One entry a dimension of input 0. Axes the node does not name have scale 1.
Result<std::vector<ResampleAxis>> resize_axes(const OpPrepare& p);

/// An axis of scale 1 is copied, whatever the coordinate mode says (but for a TfCropAndResize axis that is really
/// cropped).
bool is_identity(const ResampleAxis& axis);

/// Kernel of a linear or cubic node.
ResampleKernel resize_kernel(const schema::ResizeAttrsT& attrs);

}  // namespace lq
