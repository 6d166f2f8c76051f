// The 64-bit checksum of .lqm sections: guards against damage, not against an attacker.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lq {

/// Four interleaved lanes of multiply-xor over little-endian 64-bit words, the tail padded with zeros, the length mixed
/// in. Defined to the bit in docs/FORMAT.md; also hashes outputs for the golden self-test.
uint64_t checksum64(const void* data, size_t size, uint64_t seed = 0);

}  // namespace lq
