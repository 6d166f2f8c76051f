#include "runtime/affinity.h"

#include <string>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lq {

#if defined(__linux__)
namespace {

/// The set of all cores, or of one. Ids outside a cpu_set_t were refused by check_cores.
cpu_set_t set_of(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return set;
}

}  // namespace

Status check_cores(const std::vector<int>& cores) {
  for (const int core : cores) {
    const bool in_set = core >= 0 && core < CPU_SETSIZE;
    cpu_set_t before;
    if (in_set && sched_getaffinity(0, sizeof before, &before) == 0) {
      const cpu_set_t one = set_of({core});
      const bool allowed = sched_setaffinity(0, sizeof one, &one) == 0;
      sched_setaffinity(0, sizeof before, &before);
      if (allowed) continue;
    }
    return invalid_argument("core " + std::to_string(core) + " is not one this process may run on");
  }
  return {};
}

AffinityGuard::AffinityGuard(const std::vector<int>& cores) {
  static_assert(sizeof saved_ >= sizeof(cpu_set_t));
  if (cores.empty() || sched_getaffinity(0, sizeof(cpu_set_t), reinterpret_cast<cpu_set_t*>(saved_)) != 0) return;
  const cpu_set_t set = set_of(cores);
  bound_ = sched_setaffinity(0, sizeof set, &set) == 0;
}

AffinityGuard::~AffinityGuard() {
  if (bound_) sched_setaffinity(0, sizeof(cpu_set_t), reinterpret_cast<const cpu_set_t*>(saved_));
}
#else
Status check_cores(const std::vector<int>& cores) {
  if (cores.empty()) return {};
  return unsupported("this system does not bind threads to cores; leave the list of cores empty");
}
AffinityGuard::AffinityGuard(const std::vector<int>&) {}
AffinityGuard::~AffinityGuard() {}
#endif

}  // namespace lq
