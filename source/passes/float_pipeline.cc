// The list of passes a freshly imported float model goes through before it is calibrated.
#include "passes/passes.h"

namespace lq::passes {

Status run_float_pipeline(ModelIr& model) {
  using Pass = Status (*)(ModelIr&);
  // A matrix product may be followed by Mul and then Add: folding the one exposes the other, hence bias and norm twice.
  // Pads come first, since a Pad between two operators hides nothing else; patterns last, on the smaller graph.
  constexpr Pass kPasses[] = {remove_identity, fuse_pad,        fuse_bias,          fold_batch_norm,
                              fuse_bias,       fold_batch_norm, fuse_float_patterns};
  for (Pass pass : kPasses) LQ_RETURN_IF_ERROR(pass(model));
  return infer_shapes(model, nullptr);
}

}  // namespace lq::passes
