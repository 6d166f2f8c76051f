// Geometry of preprocessing. Resizing gives the bits of PIL's Image.resize(BILINEAR) on 8-bit images, which torchvision
// uses too. Every function fails with kOutOfMemory only, unless it says more.
#pragma once
#include "image/pixels.h"

namespace lq {

/// Bilinear with anti-aliasing: triangle filter whose support grows with the ratio, horizontal pass then vertical pass,
/// coefficients in fixed point with 22 fractional bits, rounded and clipped to 8 bits after each pass. A pass whose
/// size does not change is skipped.
Result<PixelBuffer> resize_bilinear(PixelBuffer image, int width, int height,
                                    const Allocator& allocator = default_allocator());

/// The shorter side becomes `size`, the other floor(size * long / short), as torchvision's Resize(int). Refuses results
/// beyond the pixel limit.
Result<PixelBuffer> resize_shorter(PixelBuffer image, int size, const Allocator& allocator = default_allocator());

/// Centre crop as torchvision's CenterCrop: offset round-half-even((size − crop) / 2); an image smaller than the crop
/// is first padded with 0 on both sides (the odd pixel right and below).
Result<PixelBuffer> center_crop(const PixelBuffer& image, int width, int height,
                                const Allocator& allocator = default_allocator());

/// Largest aspect-true size within width × height (each side rounded, at least 1), placed top-left, the rest 0.
Result<PixelBuffer> letterbox(PixelBuffer image, int width, int height,
                              const Allocator& allocator = default_allocator());

}  // namespace lq
