// The published decoding of the pack's three detectors: network outputs -> boxes.
#pragma once
#include <string>
#include <vector>

#include "runtime/session.h"

namespace lq::conformance {

struct Detection {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // in pixels of the network's input
  float score = 0;
  int label = 0;  // faces: 0; FastestDet: COCO class
};

float iou(const Detection& a, const Detection& b);

/// Boxes over the detector's published score threshold, less `leniency`, that survive its non-maximum suppression, best
/// first. `detector`: yunet, ultraface or fastestdet (the ModelCase's name).
std::vector<Detection> decode(const std::string& detector, const Session& session, float leniency);

}  // namespace lq::conformance
