// SPDX-License-Identifier: Apache-2.0
// What headroom changed on this machine, as `headroom history` and `headroom undo` say it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/record.h"
#include "report/style.h"

namespace headroom::report {

// A process that changes this machine right now.
struct AtWork {
  std::uint64_t pid = 0;
  std::string command;
  bool is_headroom = false;  // The headroom that began it, not a program that outlived that one.
};

// A change, and who is still at it. A change that nobody is at was interrupted, if it is between
// old and new.
struct PastChange {
  plan::Record record;
  std::vector<AtWork> at_work;
};

// One paragraph per change, newest first: when, which, what became of it, what to type next.
std::string history_to_text(const std::vector<PastChange>& changes, const Style& style);
// Schema headroom.history/1: records without the bytes of files.
std::string history_to_json_text(const std::vector<PastChange>& changes);

// One change with its steps, its files and where their originals are.
std::string to_text(const PastChange& change, const std::string& folder, const Style& style);
// Schema headroom.change/1 without the bytes of files; `notes` are what undo had to say.
std::string to_json_text(const plan::Record& record, const std::vector<std::string>& notes);
std::string to_json_text(const PastChange& change);

struct UndoReport {
  plan::Record record;
  std::size_t restored = 0;  // Files.
  std::vector<std::string> notes;
};
std::string to_text(const UndoReport& undone, const Style& style);

// What --apply did, and what comes next.
std::string applied_to_text(const plan::Record& record, const Style& style);

// What was kept of a program's output or a message, made printable: folded, its lines stay lines.
std::string fold_lines(std::string_view text, std::string_view first, std::size_t width);

// "awaits its reboot", "undone 2026-11-21 23:04".
std::string describe_state(const PastChange& change);

}  // namespace headroom::report
