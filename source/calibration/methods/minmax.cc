// minmax: nothing is clipped.
#include "calibration/methods/method.h"

namespace lq::calibration {

ValueRange minmax_threshold(const MethodInput& input) { return input.range; }

}  // namespace lq::calibration
