// SPDX-License-Identifier: Apache-2.0
// Trees of processes for tests: started, waited for and asked.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/descriptor.h"
#include "machine/tree/containment.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/wait.h"

namespace headroom::machine {

constexpr std::uint64_t long_ms = 60'000;  // Only what is broken takes so long.

inline std::vector<std::string> environment() {
  return {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"};
}

inline TreeOptions options_of(std::vector<std::string> argv) {
  TreeOptions options;
  options.argv = std::move(argv);
  options.environment = environment();
  return options;
}

inline TreeOptions nasty(std::vector<std::string> words) {
  words.insert(words.begin(), HEADROOM_NASTY_PROGRAM);
  return options_of(std::move(words));
}

inline std::unique_ptr<ProcessTree> must_start(const TreeOptions& options,
                                               Means means = Means::strongest) {
  auto tree = start_tree(options, means);
  EXPECT_TRUE(tree) << tree.error().message;
  return tree ? std::move(*tree) : nullptr;
}

inline TreeExit wait_for_exit(ProcessTree& tree) {
  const std::array ended{tree.descriptor()};
  EXPECT_TRUE(wait_readable(ended, long_ms)[0]);
  const auto exit = tree.main_exit();
  EXPECT_TRUE(exit);
  return exit.value_or(TreeExit{-1, std::nullopt, false});
}

// Until it has as many processes as it is going to have.
inline void wait_for_members(ProcessTree& tree, std::size_t count) {
  for (int i = 0; i < 6000 && tree.members().size() != count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(tree.members(), ::testing::SizeIs(count));
}

inline bool is_alive(std::uint64_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(stat, text);
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

// What a program writes to its standard output.
inline std::string output_of(TreeOptions options) {
  std::array<int, 2> both{};
  EXPECT_EQ(::pipe2(both.data(), O_CLOEXEC), 0);
  const Descriptor reading(both[0]);
  Descriptor writing(both[1]);
  options.output = writing.get();
  const auto tree = must_start(options);
  writing = Descriptor();
  std::string text;
  std::array<char, 4096> piece;
  ssize_t count = 0;
  while ((count = ::read(reading.get(), piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<std::size_t>(count));
  return text;
}

}  // namespace headroom::machine
