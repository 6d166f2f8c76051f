#include "runtime/affinity.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lq {

namespace {

/// What Linux writes for all processors of one physical core alike, e.g. "0,4" or "2-3"; the processor itself where it
/// does not tell.
std::string siblings_of(int core, const std::string& folder) {
  const std::string path = folder + "/cpu" + std::to_string(core) + "/topology/thread_siblings_list";
  char line[256] = {};
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return std::to_string(core);
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  return read ? line : std::to_string(core);
}

}  // namespace

Result<std::vector<int>> choose_processors(int threads, const std::vector<int>& processors, const std::string& folder) {
  std::vector<int> left, chosen;
  for (const int p : processors) {
    if (std::find(left.begin(), left.end(), p) == left.end()) left.push_back(p);
  }
  const size_t wanted = size_t(threads);
  if (left.size() < wanted) {
    return invalid_argument(std::to_string(threads) + " threads cannot have a processor each: there are " +
                            std::to_string(left.size()) + "; ask for fewer threads or do not pin them");
  }
  while (chosen.size() < wanted) {  // each turn takes one processor of each core that has one left
    std::set<std::string> taken;
    std::vector<int> later;
    for (const int p : left) {
      const bool take = chosen.size() < wanted && taken.insert(siblings_of(p, folder)).second;
      (take ? chosen : later).push_back(p);
    }
    left = std::move(later);
  }
  return chosen;
}

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

namespace {

std::vector<int> allowed_processors() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

Result<std::vector<int>> processors_for(int threads, const std::vector<int>& cores) {
  LQ_RETURN_IF_ERROR(check_cores(cores));
  return choose_processors(threads, cores.empty() ? allowed_processors() : cores, "/sys/devices/system/cpu");
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
Result<std::vector<int>> processors_for(int, const std::vector<int>&) {
  return unsupported("this system does not bind threads to cores; do not pin them");
}
AffinityGuard::AffinityGuard(const std::vector<int>&) {}
AffinityGuard::~AffinityGuard() {}
#endif

}  // namespace lq
