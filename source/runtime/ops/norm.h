// Prepare functions of the normalizations, by file; norm.cc lists them in kNormRows.
#pragma once
#include "runtime/op.h"

namespace lq {

// softmax.cc: Softmax and LogSoftmax
Status prepare_softmax(OpPrepare& p);

}  // namespace lq
