// SPDX-License-Identifier: Apache-2.0
// For transcripts:
//   fake_distribution NAME FOLDER              a scratch root that looks like the distribution
//   fake_distribution --reboot FOLDER          its next boot
//   fake_distribution --reboot --fail FOLDER   the same, and what is chosen first never comes up
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "support/distribution.h"
#include "support/simulated_boot.h"

namespace {

int fail(const headroom::Error& error) {
  fmt::print(stderr, "fake_distribution: {}\n", error.message);
  return 1;
}

int reboot(const std::string& root, bool first_fails) {
  const auto outcome = headroom::testing::simulate_boot(root, first_fails);
  if (!outcome) return fail(outcome.error());
  for (const std::string& entry : outcome->failed) fmt::print("did not come up: {}\n", entry);
  fmt::print("booted:          {}\nkernel:          {}\ncommand line:    {}\n", outcome->entry,
             outcome->kernel, outcome->command_line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "--reboot") return reboot(words[1], false);
  if (words.size() == 3 && words[0] == "--reboot" && words[1] == "--fail") {
    return reboot(words[2], true);
  }
  if (words.size() != 2 || words[0].starts_with('-')) {
    fmt::print(stderr,
               "usage: fake_distribution NAME FOLDER\n"
               "       fake_distribution --reboot [--fail] FOLDER\nnames: {}\n",
               headroom::join(headroom::testing::distribution_names(), ", "));
    return 2;
  }
  const auto made = headroom::testing::lay_out_distribution(words[0], words[1]);
  return made ? 0 : fail(made.error());
}
