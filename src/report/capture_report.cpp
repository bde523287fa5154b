// SPDX-License-Identifier: Apache-2.0
#include "report/capture_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"

namespace headroom::report {
namespace {

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// "serial_numbers" → "3 serial numbers".
std::string redacted_text(const CaptureReport& report) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : report.redacted) {
    if (count == 0) continue;
    std::string name = kind;
    std::replace(name.begin(), name.end(), '_', ' ');
    if (name == "uuids") name = "UUIDs";
    if (count == 1) name.erase(name.rfind(name.ends_with("addresses") ? "es" : "s"));
    parts.push_back(fmt::format("{} {}", count, name));
  }
  return parts.empty() ? "nothing: it contained nothing private" : join(parts, ", ");
}

// The open files of each process are one thing to a reader, not thousands.
std::string no_permission_text(const CaptureReport& report) {
  constexpr std::size_t shown_max = 6;
  std::vector<std::string> parts;
  std::vector<std::string_view> processes;
  std::size_t others = 0;
  for (const std::string& path : report.no_permission) {
    const auto names = split(path, '/');
    const bool of_process = names.size() >= 3 && names[0] == "proc" && parse_u64(names[1]);
    if (of_process) {
      if (processes.empty() || processes.back() != names[1]) processes.push_back(names[1]);
    } else if (parts.size() < shown_max) {
      parts.push_back("/" + path);
    } else {
      ++others;
    }
  }
  if (others > 0) parts.push_back(plural(others, "other file", "other files"));
  if (!processes.empty()) {
    parts.push_back("files of " + plural(processes.size(), "process", "processes"));
  }
  return join(parts, ", ");
}

std::string next_command(const CaptureReport& report) {
  const std::string python = report.python.empty() ? "" : " --python " + report.python;
  return "headroom check --root " + report.output + python;
}

}  // namespace

Json to_json(const CaptureReport& report) {
  Json redacted = Json::object();
  for (const auto& [kind, count] : report.redacted) redacted[kind] = count;
  return {{"schema", "headroom.capture/1"},
          {"output", report.output},
          {"kind", report.archive ? "archive" : "folder"},
          {"files", report.files},
          {"links", report.links},
          {"stand_ins", report.stand_ins},
          {"content_bytes", report.bytes},
          {"redacted", redacted},
          {"no_permission", report.no_permission},
          {"unreadable", report.unreadable},
          {"more_as_root", report.more_as_root},
          {"same_answer", report.differences.empty()},
          {"differences", report.differences},
          {"next", next_command(report)}};
}

std::string to_text(const CaptureReport& report, const Style& style) {
  std::string text = style.bold(fmt::format("{}: {}, {} in all", printable(report.output),
                                            plural(report.files, "file", "files"),
                                            to_string(Bytes{report.bytes}))) +
                     "\n\n";
  const auto row = [&](std::string_view name, const std::string& what) {
    text += fold(printable(what), fmt::format("  {:<14}", name), style.width);
  };
  row("Taken out", redacted_text(report));
  if (!report.no_permission.empty()) {
    row("Not readable", no_permission_text(report));
    if (report.more_as_root) row("", "sudo headroom capture " + report.output + " sees more");
  }
  if (report.unreadable > 0) {
    row("Failed", plural(report.unreadable, "read failed and is", "reads failed and are") +
                      " recorded as such");
  }
  if (report.differences.empty()) {
    row("Verified", "headroom check gives the same answer for it as for the machine");
  } else {
    row("Differs",
        "headroom check gives a different answer for it at " + join(report.differences, ", "));
  }
  text += "\nLook through it before you share it. Every command with --root reads it:\n";
  text += "  next: " + keep_whole(printable(next_command(report))) + "\n";
  return fit(text, style.width);
}

}  // namespace headroom::report
