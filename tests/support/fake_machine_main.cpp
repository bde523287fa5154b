// SPDX-License-Identifier: Apache-2.0
// fake_machine DESCRIPTION.toml FOLDER: expands a description, for scripts.
#include <fmt/format.h>

#include <filesystem>

#include "base/document.h"
#include "machine/user_files.h"
#include "support/fake_machine.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: fake_machine DESCRIPTION.toml FOLDER\n");
    return 2;
  }
  const auto text = headroom::machine::read_file(argv[1]);
  const auto description =
      text ? headroom::parse_toml(*text) : headroom::Result<headroom::Document>(text.error());
  if (!description) {
    fmt::print(stderr, "fake_machine: {}\n", description.error().message);
    return 1;
  }
  std::filesystem::create_directories(argv[2]);
  const auto expanded = headroom::testing::expand_machine(*description, argv[2]);
  if (!expanded) fmt::print(stderr, "fake_machine: {}\n", expanded.error().message);
  return expanded ? 0 : 1;
}
