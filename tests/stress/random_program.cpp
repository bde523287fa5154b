// SPDX-License-Identifier: Apache-2.0
// random_program OPERATIONS THREADS SEED: random programs over both ways of getting memory, as
// long as one likes; under a sanitizer, too.   exit 0: nothing lost; 1: something, which is printed
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "stress/allocator_program.h"

namespace {

int run(headroom::allocator::testing::ProgramOptions options) {
  int failures = 0;
  for (const bool virtual_memory : {true, false}) {
    options.virtual_memory = virtual_memory;
    const auto result = run_program(options);
    std::printf(
        "%s virtual memory: %llu operations, %llu refused, %llu repairs, %llu flushes, %llu waits, "
        "%llu plans (%llu blocks, %llu broken)\n",
        virtual_memory ? "with" : "without", static_cast<unsigned long long>(result.operations),
        static_cast<unsigned long long>(result.refused),
        static_cast<unsigned long long>(result.repairs),
        static_cast<unsigned long long>(result.flushes),
        static_cast<unsigned long long>(result.waits),
        static_cast<unsigned long long>(result.plans),
        static_cast<unsigned long long>(result.planned),
        static_cast<unsigned long long>(result.plans_broken));
    if (result.broken.empty()) continue;
    std::printf("BROKEN: %s\n", result.broken.c_str());
    ++failures;
  }
  return failures;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: %s OPERATIONS THREADS SEED\n", arguments[0]);
    return 2;
  }
  headroom::allocator::testing::ProgramOptions options;
  options.operations = std::strtoull(arguments[1], nullptr, 10);
  options.threads = static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10));
  options.seed = static_cast<std::uint32_t>(std::strtoul(arguments[3], nullptr, 10));
  if (options.threads == 0) options.threads = 1;
  return run(options) == 0 ? 0 : 1;
}
