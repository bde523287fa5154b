// SPDX-License-Identifier: Apache-2.0
#include "machine/processor.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/printable.h"
#include "base/text.h"
#include "machine/clock.h"

namespace headroom::machine {
namespace {

constexpr double ns_per_s = 1e9;
constexpr std::size_t longest_name = 100;

// "model name" of x86, "Model" of some ARM boards, "cpu model" of others.
bool is_name_key(std::string_view key) {
  return key == "model name" || key == "Model" || key == "cpu model" || key == "cpu";
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !is_name_key(trim(std::string_view(line).substr(0, colon))))
      continue;
    std::string name;
    for (const std::string_view word : split_words(std::string_view(line).substr(colon + 1)))
      name.append(name.empty() ? "" : " ").append(word);
    if (!name.empty()) return printable(name.substr(0, longest_name));
  }
  return "unknown processor";
}

std::map<int, std::uint64_t> waited_ns() {
  std::map<int, std::uint64_t> waited;
  std::error_code problem;  // A thread that has ended since has nothing to say.
  std::filesystem::directory_iterator entry("/proc/self/task", problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    const int thread = std::atoi(entry->path().filename().c_str());
    if (thread == 0) continue;
    std::ifstream file(entry->path() / "schedstat");
    std::uint64_t ran = 0, waiting = 0;
    if (file >> ran >> waiting) waited[thread] = waiting;
  }
  return waited;
}

QuietClock::QuietClock() : start_ns_(monotonic_ns()), waited_(waited_ns()) {}

Stretch QuietClock::take() {
  const std::uint64_t end_ns = monotonic_ns();
  std::map<int, std::uint64_t> waited = waited_ns();
  Stretch stretch{.wall_s = static_cast<double>(end_ns - start_ns_) / ns_per_s};
  double undisturbed = 1;
  for (const auto& [thread, waiting] : waited) {
    const auto before = waited_.find(thread);
    const std::uint64_t more = waiting - (before == waited_.end() ? 0 : before->second);
    const double waited_s = std::min(stretch.wall_s, static_cast<double>(more) / ns_per_s);
    stretch.most_waited_s = std::max(stretch.most_waited_s, waited_s);
    if (stretch.wall_s > 0) undisturbed *= 1 - waited_s / stretch.wall_s;
  }
  stretch.quiet_s = stretch.wall_s * undisturbed;
  waited_ = std::move(waited);
  start_ns_ = monotonic_ns();
  return stretch;
}

}  // namespace headroom::machine
