// What a flatbuffer's verifier does not ask of an untrusted graph before it is unpacked. Internal to format/.
#pragma once
#include <cstdint>

#include "base/status.h"
#include "model_generated.h"

namespace lq {

/// Bytes the long vectors and strings of a verified graph hold, each counted once a reference. The writer shares only
/// short ones (kMaxSharedBytes), so the sum stays below the graph's size; a hostile file may let a million references
/// point at one long vector.
uint64_t referenced_bytes(const schema::Model& model);
/// The same of one node's attributes.
uint64_t attribute_bytes(const schema::Node& node);

/// The 64-bit vectors (shapes) lie at multiples of 8; flatbuffers' verifier looks at the place of their length only.
bool wide_vectors_aligned(const schema::Model& model);

/// kUnsupported if the attributes hold an enum value of a later schema.
Status check_known_enums(const schema::AttrsUnion& attrs);

/// Preprocessing is known and its numbers are usable: finite, std not 0, sizes within 1…65536.
Status check_preprocessing(const schema::PreprocessingT& preprocessing);

}  // namespace lq
