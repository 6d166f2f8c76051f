// Geometry of preprocessing. Resizing gives the bits of PIL's Image.resize(BILINEAR) on 8-bit images, which torchvision
// uses too.
#pragma once
#include "calibration/image.h"

namespace lq::calibration {

/// Bilinear with anti-aliasing: triangle filter whose support grows with the ratio, horizontal pass then vertical pass,
/// coefficients in fixed point with 22 fractional bits, rounded and clipped to 8 bits after each pass. A pass whose
/// size does not change is skipped.
Image resize_bilinear(const Image& image, int width, int height);

/// The shorter side becomes `size`, the other floor(size * long / short), as torchvision's Resize(int).
Result<Image> resize_shorter(const Image& image, int size);

/// Centre crop as torchvision's CenterCrop: offset round-half-even((size − crop) / 2); an image smaller than the crop
/// is first padded with 0 on both sides (the odd pixel right and below).
Image center_crop(const Image& image, int width, int height);

/// Largest aspect-true size within width × height (each side rounded, at least 1), placed top-left, the rest 0.
Image letterbox(const Image& image, int width, int height);

}  // namespace lq::calibration
