// Which processors a thread may run on.
#pragma once
#include <vector>

#include "base/status.h"

namespace lq {

/// An error unless this system can bind threads and the calling thread may run on every one of `cores`. Empty is fine.
Status check_cores(const std::vector<int>& cores);

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
