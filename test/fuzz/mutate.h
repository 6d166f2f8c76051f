// Mutations of a model file's bytes. Every checksum is made right again, so that the damage reaches what lies behind
// it.
#pragma once
#include <random>
#include <string>

namespace lq::fuzz {

/// Bits flipped and bytes overwritten anywhere in the graph, the weights or the header.
std::string mutate_bytes(std::string file, std::mt19937_64& random);
/// The graph unpacked, one to three of its fields set to hostile values (−1, 0, huge, NaN, another tensor's id…),
/// packed again.
std::string mutate_fields(const std::string& file, std::mt19937_64& random);

}  // namespace lq::fuzz
