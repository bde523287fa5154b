// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/missing_evidence.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/recovery.h"
#include "findings/causes/shortfall.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Ending {
  std::string signal;  // "SIGABRT"
  std::string meaning;
};

Ending ending_of(int number) {
  switch (number) {
    case 4:
      return {"SIGILL", "the CPU does not have the instruction"};
    case 6:
      return {"SIGABRT", "the process aborted itself, and said why on its standard error"};
    case 7:
      return {"SIGBUS", "mapped memory could not be accessed (often /dev/shm is too small)"};
    case 9:
      return {"SIGKILL",
              "something else killed it: the kernel because memory ran out, or a person"};
    case 11:
      return {"SIGSEGV", "it accessed memory that is not its own"};
    case 15:
      return {"SIGTERM", "something asked it to end"};
    default:
      return {};
  }
}

// Finds the signal in "exit code -6", "code 134", "exitcode: -11", "status 139".
Ending signal_in(const Observation& failure) {
  static const RE2 pattern(
      R"((?i)(?:exit ?code|exited with|exit status|sent code|status|code)[ :=(]+(-?\d{1,3})\b)");
  static const RE2 name(R"(\bSIG(ABRT|KILL|SEGV|BUS|ILL|TERM)\b)");
  int number = 0;
  std::string word;
  if (RE2::PartialMatch(failure.text, pattern, &number)) {
    constexpr int shell_adds = 128;
    if (number > shell_adds) return ending_of(number - shell_adds);
    if (number < 0) return ending_of(-number);
  }
  if (!RE2::PartialMatch(failure.text, name, &word)) return {};
  for (const int known : {4, 6, 7, 9, 11, 15}) {
    if (ending_of(known).signal == "SIG" + word) return ending_of(known);
  }
  return {};
}

bool has_word(const facts::Text& text, std::string_view word) {
  return text && to_lower(*text).find(word) != std::string::npos;
}

// Finds a name that journald knows: "ollama.service", or the program of a syslog line.
std::string unit_of(const logs::Observations& log) {
  static const RE2 unit(R"(\b([\w@-]+)\.service\b)");
  std::string name;
  for (const Observation& one : log.all()) {
    if (RE2::PartialMatch(one.text, unit, &name)) return name;
  }
  return {};
}

std::string origin_of(const logs::Observations& log, const Observation* last) {
  if (last != nullptr && !last->origin.empty()) return last->origin;
  for (const Observation& one : log.all()) {
    if (!one.origin.empty() && one.origin != "kernel") return one.origin;
  }
  return {};
}

// Names the command that shows the program's own output.
std::string own_words(const LogSubject& subject, const Observation* last) {
  const facts::Text& container = subject.scene.machine.container;
  const std::string origin = origin_of(subject.log, last);
  if (has_word(container, "kube") || has_word(container, "pod ")) {
    return "Get the log of the run before the restart, and the reason why it ended: kubectl logs "
           "POD --previous --timestamps; kubectl describe pod POD";
  }
  for (const std::string_view engine : {"podman", "docker"}) {
    if (!has_word(container, engine)) continue;
    return fmt::format(
        "Get the container's whole log, and how it ended: {} logs --timestamps {}; {} inspect "
        "--format '{{{{json .State}}}}' {}",
        engine, origin.empty() ? "NAME" : origin, engine, origin.empty() ? "NAME" : origin);
  }
  if (const std::string unit = unit_of(subject.log); !unit.empty()) {
    return fmt::format("Get the service's log: journalctl -u {} -b --no-pager", unit);
  }
  return "Run the job again and keep its standard error: CMD 2>&1 | tee job.log";
}

std::string kernel_words(const LogSubject& subject, const Observation* last) {
  if (has_word(subject.scene.machine.distribution, "windows")) {
    return "Get the driver's messages: Get-WinEvent -LogName System -MaxEvents 200 | Where-Object "
           "ProviderName -match 'amd|Display|WHEA'";
  }
  constexpr std::string_view filter = "grep -iE 'amdgpu|kfd|oom|mce|aer|segfault|traps'";
  const std::string since = last == nullptr ? "" : shortly_before(last->time);
  const std::string where = subject.scene.machine.container ? ", on the host" : "";
  if (!since.empty()) {
    return fmt::format(
        "Get the kernel's messages of the same minutes{}: sudo journalctl -k --since \"{}\" "
        "| {}",
        where, since, filter);
  }
  return fmt::format("Get the kernel's messages of the same minutes{}: sudo dmesg -T | {}", where,
                     filter);
}

// A request for little, refused beside much that is free: no amount of memory is short, so what
// counts something else comes into question. vm.max_map_count is the kernel's limit of mappings of
// a process (docs.kernel.org: admin-guide/sysctl/vm); KFD maps each buffer.
void add_other_limits(const LogSubject& subject, MissingEvidence& missing) {
  const auto failed = failed_allocation(subject);
  if (!failed || !is_tiny_beside_free(*failed)) return;
  missing.reasons.push_back(fmt::format(
      "The message itself counts {} free, and {} could not be had. So not the amount is short: the "
      "process may have reached the kernel's number of mappings (vm.max_map_count), a limit of the "
      "driver or of locked memory, or a limit of the container; or the call failed because of an "
      "earlier fault.",
      to_string(*failed->free), to_string(*failed->asked)));
  missing.commands.emplace_back(
      "Just before it fails, count the process's mappings against the limit: wc -l "
      "/proc/PID/maps; sysctl vm.max_map_count");
  missing.commands.emplace_back(
      "See the process's other limits: cat /proc/PID/limits; cat /sys/fs/cgroup/memory.events");
}

}  // namespace

std::string shortly_before(const std::string& time) {
  static const RE2 form(R"((\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):\d\d[.,]?\d*(Z?).*)");
  std::string year, month, day, zone;
  int hour = 0, minute = 0;
  if (!RE2::FullMatch(time, form, &year, &month, &day, &hour, &minute, &zone)) return {};
  constexpr int window = 2, in_an_hour = 60;
  // For the first minutes of a day, the time stays on that day; the minutes before midnight are not
  // worth a calendar.
  const int start = std::max(0, hour * in_an_hour + minute - window);
  return fmt::format("{}-{}-{} {:02}:{:02}{}", year, month, day, start / in_an_hour,
                     start % in_an_hour, zone.empty() ? "" : " UTC");
}

MissingEvidence find_missing_evidence(const LogSubject& subject, const Observation* last) {
  MissingEvidence missing;
  const logs::Observations& log = subject.log;
  const bool hangs = log.any_of({"said-to-hang", "interrupted"});
  const Ending ending = last == nullptr ? Ending{} : signal_in(*last);
  if (!ending.signal.empty()) {
    missing.reasons.push_back(fmt::format("It ended by {}: {}.", ending.signal, ending.meaning));
  } else if (hangs) {
    missing.reasons.emplace_back(
        "It stopped making progress, and no line says what it waited for.");
  } else if (last == nullptr && is_at_work(log)) {
    missing.reasons.emplace_back("The last job started, and no line says whether or how it ended.");
  } else if (last == nullptr) {
    missing.reasons.emplace_back("No line reports a failure, and none shows that the job worked.");
  } else if (last->signature->role == knowledge::Role::consequence) {
    missing.reasons.emplace_back("The log reports a failure, but no line says why.");
  } else {
    missing.reasons.emplace_back("Several causes can lead to this failure.");
  }
  add_other_limits(subject, missing);
  const Observation* elsewhere = log.first("no-log-told");
  if (elsewhere != nullptr && elsewhere->text.find("](http") != std::string::npos) {
    missing.reasons.emplace_back(
        "The report attaches its log as a file, which is not in this text.");
    missing.commands.emplace_back(
        "Save the attached file and give it as well: headroom check --log REPORT --log FILE");
  }
  if (hangs) {
    missing.commands.emplace_back(
        "While it is stuck, see the line in which it waits: py-spy dump --native --pid PID");
  }
  missing.commands.push_back(own_words(subject, last));
  missing.commands.push_back(kernel_words(subject, last));
  if (ending.signal == "SIGABRT" || ending.signal == "SIGSEGV" || ending.signal == "SIGBUS") {
    missing.commands.emplace_back("See where it crashed: coredumpctl info -1");
  }
  missing.commands.emplace_back("Trace what it asks of the GPU: AMD_LOG_LEVEL=3 CMD 2> hip.log");
  missing.commands.emplace_back(
      "Look at the machine itself: headroom check. To record it for somebody else: headroom "
      "capture box.tar.zst");
  missing.commands.emplace_back(
      "Then look at all of it together: headroom check --log job.log --log kernel.log "
      "--here");
  return missing;
}

}  // namespace headroom::findings
