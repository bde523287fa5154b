// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/mutex.h"
#include "stand_ins/hip.h"

namespace headroom::stand_ins {
namespace {

struct Refusals {
  Mutex mutex;
  std::map<std::string, std::uint64_t> by_function HEADROOM_GUARDED_BY(mutex);
};

// Never destroyed: programs call functions of HIP from destructors of statics.
Refusals& refusals() {
  static auto* const made = new Refusals;
  return *made;
}

}  // namespace

int refuse(const char* function) {
  Refusals& all = refusals();
  {
    const MutexLock lock(all.mutex);
    ++all.by_function[function];
  }
  if (std::getenv("FAKE_GPU_TELL") != nullptr)
    std::fprintf(stderr, "stand-in for HIP: %s is not done here\n", function);
  return noted(not_supported);
}

}  // namespace headroom::stand_ins

std::uint64_t fake_gpu_refusals(const char* function) {
  headroom::stand_ins::Refusals& all = headroom::stand_ins::refusals();
  const headroom::MutexLock lock(all.mutex);
  std::uint64_t sum = 0;
  for (const auto& [name, count] : all.by_function)
    if (function == nullptr || name == function) sum += count;
  return sum;
}
