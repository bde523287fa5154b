// SPDX-License-Identifier: Apache-2.0
// scratch_root FOLDER: marks a folder as one that may be changed, for scripts.
#include <fmt/format.h>

#include <exception>

#include "support/scratch_root.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: scratch_root FOLDER\n");
    return 2;
  }
  try {
    headroom::testing::mark_as_scratch_root(argv[1]);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "scratch_root: {}\n", problem.what());
    return 1;
  }
  return 0;
}
