// SPDX-License-Identifier: Apache-2.0
#include "support/test_machines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/document.h"
#include "machine/user_files.h"
#include "support/fake_machine.h"

namespace headroom::testing {

std::filesystem::path machines_folder() {
  return std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests/machines";
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(machines_folder())) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Document read_description(const std::string& name) {
  const auto text = machine::read_file((machines_folder() / (name + ".toml")).string());
  EXPECT_TRUE(text.has_value()) << name;
  auto description = parse_toml(text ? *text : "");
  EXPECT_TRUE(description.has_value()) << name << ": " << description.error().message;
  return description ? *std::move(description) : Document{};
}

void expand_named(const std::string& name, const std::filesystem::path& folder) {
  const auto expanded = expand_machine(read_description(name), folder.string());
  ASSERT_TRUE(expanded.has_value()) << name << ": " << expanded.error().message;
}

}  // namespace headroom::testing
