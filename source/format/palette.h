// Encoding "Palette" of a weight buffer: 4-byte words of few different values (a detector's anchors, grids, masks) as
// one byte a word. Internal to format/; docs/FORMAT.md is the contract.
#pragma once
#include <optional>

#include "base/memory.h"

namespace lq {

/// The encoded bytes of `plain`: uint32 entries (1…256), the words in order of first appearance, then an index a word.
/// nullopt where it does not pay: fewer than 4096 bytes, no whole words, or more than 256 different ones.
std::optional<Bytes> palette_encoded(const Bytes& plain);

/// The plain bytes, at most four times as many as the encoded ones. kCorrupt if the table or an index is out of bounds.
Result<Bytes> palette_decoded(const uint8_t* encoded, size_t size);

}  // namespace lq
