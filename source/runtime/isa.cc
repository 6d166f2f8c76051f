// Names of the instruction sets and the choice of one.
#include <cstdlib>

#include "kernels/cpu_features.h"
#include "runtime/model.h"

namespace lq {
namespace {

constexpr const char* kIsaNames[kIsaCount] = {"scalar", "sse41",        "avx2",      "avxvnni",    "avx512vnni",
                                              "neon",   "neon_dotprod", "neon_i8mm", "neon_vfpv4", "rvv"};

std::string usable_names() {
  std::string names;
  for (int i = 0; i < kIsaCount; ++i) {
    if (is_isa_built(Isa(i)) && is_isa_supported(Isa(i)))
      names += (names.empty() ? "" : ", ") + std::string(kIsaNames[i]);
  }
  return names;
}

}  // namespace

const char* isa_name(Isa isa) { return int(isa) < kIsaCount ? kIsaNames[int(isa)] : "unknown"; }

Result<Isa> parse_isa(const std::string& name) {
  for (int i = 0; i < kIsaCount; ++i) {
    if (name != kIsaNames[i]) continue;
    if (!is_isa_built(Isa(i))) {
      return unsupported("ISA '" + name + "' is not in this build of libquant; use one of: " + usable_names());
    }
    if (!is_isa_supported(Isa(i))) {
      return unsupported("ISA '" + name + "' is not supported by this processor; use one of: " + usable_names());
    }
    return Isa(i);
  }
  return invalid_argument("unknown ISA '" + name + "'; use one of: " + usable_names());
}

Result<Isa> default_isa() {
  const char* forced = std::getenv("LIBQUANT_ISA");
  if (forced == nullptr || forced[0] == '\0') return best_isa();
  Result<Isa> isa = parse_isa(forced);
  if (!isa.ok()) return isa.status().with_context("environment variable LIBQUANT_ISA");
  return isa;
}

}  // namespace lq
