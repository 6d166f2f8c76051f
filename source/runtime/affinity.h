// Which processors a thread may run on.
#pragma once
#include <string>
#include <vector>

#include "base/status.h"

namespace lq {

/// An error unless this system can bind threads and the calling thread may run on every one of `cores`. Empty is fine.
Status check_cores(const std::vector<int>& cores);

/// A processor of its own for each of `threads`, out of `processors`: first one of each physical core, in the given
/// order, then their hyper-threads. An error where there are fewer. `folder`: where Linux tells which processors are one
/// core (/sys/devices/system/cpu); where it does not, each is taken for a core.
Result<std::vector<int>> choose_processors(int threads, const std::vector<int>& processors, const std::string& folder);
/// The same out of `cores` of this machine, which are checked first; empty: all this process may run on.
Result<std::vector<int>> processors_for(int threads, const std::vector<int>& cores);

/// Binds the calling thread to `cores` (which passed check_cores; empty: does nothing) and restores its set of before.
class AffinityGuard {
 public:
  explicit AffinityGuard(const std::vector<int>& cores);
  ~AffinityGuard();
  AffinityGuard(const AffinityGuard&) = delete;
  AffinityGuard& operator=(const AffinityGuard&) = delete;

 private:
  static constexpr int kMaxCores = 1024;
  bool bound_ = false;
  unsigned long saved_[kMaxCores / (8 * sizeof(unsigned long))];
};

}  // namespace lq
