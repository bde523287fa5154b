// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/process_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "machine/descriptor.h"
#include "machine/each_entry.h"

namespace headroom::machine {
namespace {

// The beginning of a file under /proc; nothing if it cannot be read.
std::optional<std::string> read_start(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::array<char, 4096> text;
  ssize_t count = 0;
  do {
    count = ::read(file.get(), text.data(), text.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(count));
}

std::vector<ProcessStat> read_all() {
  std::vector<ProcessStat> all;
  Descriptor folder(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return all;
  each_entry(std::move(folder), [&](int, const dirent& entry) {
    const auto pid = parse_u64(&entry.d_name[0]);
    if (!pid) return;
    if (auto process = read_process(static_cast<pid_t>(*pid))) all.push_back(std::move(*process));
  });
  return all;
}

std::uint64_t number_at(const std::vector<std::string_view>& fields, std::size_t index) {
  return parse_u64(fields[index]).value_or(0);
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto fields = split_words(text.substr(close + 1));  // From the third on, the state.
  constexpr std::size_t needed = 22;                        // Up to the 24th, rss.
  const auto pid = parse_u64(trim(text.substr(0, open)));
  if (!pid || fields.size() < needed) return std::nullopt;
  ProcessStat process;
  process.pid = static_cast<pid_t>(*pid);
  process.name = text.substr(open + 1, close - open - 1);
  process.state = fields[0][0];
  process.parent = static_cast<pid_t>(number_at(fields, 1));
  process.own_ticks = number_at(fields, 11) + number_at(fields, 12);
  process.waited_ticks = number_at(fields, 13) + number_at(fields, 14);
  process.start_ticks = number_at(fields, 19);
  process.rss = {number_at(fields, 21) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
  return process;
}

std::optional<ProcessStat> read_process(pid_t pid) {
  const auto text = read_start(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  return parse_process_stat(*text);
}

std::vector<ProcessStat> read_descendants(pid_t ancestor) {
  std::multimap<pid_t, ProcessStat> by_parent;
  for (ProcessStat& process : read_all()) by_parent.emplace(process.parent, std::move(process));
  std::vector<ProcessStat> found;
  std::vector<pid_t> open{ancestor};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = by_parent.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      open.push_back(child->second.pid);
      found.push_back(std::move(child->second));
    }
    by_parent.erase(first, last);  // Numbers that were reused meanwhile may not lead in a circle.
  }
  return found;
}

std::string read_command(const ProcessStat& process) {
  constexpr std::size_t longest = 200;
  std::string line =
      read_start(fmt::format("/proc/{}/cmdline", process.pid)).value_or("").substr(0, longest);
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line.empty() ? process.name : line;
}

std::optional<Bytes> read_proportional(pid_t pid) {
  const auto text = read_start(fmt::format("/proc/{}/smaps_rollup", pid));
  if (!text) return std::nullopt;
  for (const std::string_view line : split_lines(*text)) {
    const auto words = split_words(line);
    if (words.size() < 2 || words[0] != "Pss:") continue;
    const auto kib = parse_u64(words[1]);
    if (kib) return Bytes{*kib << 10U};
  }
  return std::nullopt;
}

std::uint64_t ticks_to_ms(std::uint64_t ticks) {
  return ticks * 1000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

}  // namespace headroom::machine
