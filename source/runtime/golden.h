// The golden self-test a model file carries: inputs from a seed, one 64-bit hash of the outputs. Any build, ISA and thread count
// must reproduce it, so a device can prove that it computes what the desktop validated.
#pragma once
#include "runtime/session.h"

namespace lq {

/// Fills every input of the session from the seed: float inputs uniform in the tensor's calibrated range ([0, 1) without one),
/// integers in its calibrated range (0…9 without one), bools 0 or 1. The sequence is splitmix64 (Steele, Lea, Flood 2014), one draw an element.
Status fill_inputs_from_seed(Session& session, uint64_t seed);

/// Hash of all outputs in order (dtype, shape and bytes) after a run.
uint64_t hash_outputs(const Session& session);

/// Computes the golden pair for the session's current input shapes.
Result<schema::GoldenT> make_golden(Session& session, uint64_t seed);

/// Runs the model's golden test on a fresh session with `options` (its input shapes are the file's). kNotFound if the model
/// carries none, kInternal if the hash differs.
Status check_golden(std::shared_ptr<const Model> model, SessionOptions options);

}  // namespace lq
