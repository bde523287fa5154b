// SPDX-License-Identifier: Apache-2.0
#include "machine/services/process_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "machine/each_entry.h"
#include "machine/os_error.h"
#include "machine/services/held_signals.h"
#include "machine/services/proc_file.h"

namespace headroom::machine {

std::optional<ListedProcess> parse_process_stat(const std::string& text, std::uint64_t page,
                                                std::uint64_t ticks_per_s) {
  // The name may hold spaces and brackets: the last ')' ends it.
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  const auto pid = parse_u64(trim(std::string_view(text).substr(0, open)));
  const auto fields = split(trim(std::string_view(text).substr(close + 1)), ' ');
  constexpr std::size_t first = 3;  // What proc_pid_stat(5) numbers from 1.
  if (!pid || fields.size() <= 24 - first || fields[0].size() != 1) return std::nullopt;
  const auto number = [&fields](std::size_t field) {
    return parse_u64(fields[field - first]).value_or(0);
  };
  ListedProcess it;
  it.pid = *pid;
  it.name = text.substr(open + 1, close - open - 1);
  it.state = fields[0][0];
  it.parent = number(4);
  it.processor_ms = (number(14) + number(15)) * 1000 / std::max<std::uint64_t>(ticks_per_s, 1);
  it.started = number(22);
  it.address_space = Bytes{number(23)};
  it.rss = Bytes{number(24) * page};
  const bool has_ended = it.state == 'Z' || it.state == 'X';
  if (has_ended && fields.size() > 52 - first) it.wait_status = static_cast<int>(number(52));
  return it;
}

std::optional<ListedProcess> read_process(std::uint64_t pid) {
  const auto text = read_proc_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  return parse_process_stat(*text, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
                            static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

// The kernel counts from the boot, suspensions included.
std::int64_t started_at_ms(const ListedProcess& process) {
  timespec since_boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const std::int64_t now_ms =
      static_cast<std::int64_t>(since_boot.tv_sec) * 1000 + since_boot.tv_nsec / 1'000'000;
  const auto ticks_per_s = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto started_ms = static_cast<std::int64_t>(process.started * 1000 / ticks_per_s);
  return time_of_day_ms() - (now_ms - started_ms);
}

Result<std::vector<ListedProcess>> list_processes() {
  Descriptor folder(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return os_error(errno, "listing /proc");
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto ticks_per_s = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  std::vector<ListedProcess> found;
  const int problem = each_entry(std::move(folder), [&](int /*folder*/, const dirent& entry) {
    const std::string name = entry.d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) return;
    const auto text = read_proc_file("/proc/" + name + "/stat");
    if (!text) return;  // It has ended meanwhile.
    if (auto it = parse_process_stat(*text, page, ticks_per_s)) found.push_back(*std::move(it));
  });
  if (problem != 0) return os_error(problem, "listing /proc");
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

bool has_variable(std::uint64_t pid, const std::string& variable) {
  const auto text = read_proc_file(fmt::format("/proc/{}/environ", pid));
  if (!text) return false;
  const auto entries = split(*text, '\0');
  return std::find(entries.begin(), entries.end(), variable) != entries.end();
}

bool shows_environment(std::uint64_t pid) {
  const auto text = read_proc_file(fmt::format("/proc/{}/environ", pid));
  return text && !text->empty();
}

std::string command_line_of(std::uint64_t pid, const std::string& name) {
  auto text = read_proc_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text || text->empty()) return "[" + name + "]";
  std::replace(text->begin(), text->end(), '\0', ' ');
  return std::string(trim(*text));
}

}  // namespace headroom::machine
