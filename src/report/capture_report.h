// SPDX-License-Identifier: Apache-2.0
// What `headroom capture` did: for people, and as JSON for programs (schema headroom.capture/1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/document_fwd.h"
#include "report/style.h"

namespace headroom::report {

struct CaptureReport {
  std::string output;
  std::string python;  // --python as it is called in the capture; empty if none was named.
  bool archive = false;
  std::size_t files = 0, links = 0, stand_ins = 0;  // Stand-ins: there, and not read.
  std::uint64_t bytes = 0;                          // Of the files, before compression.
  std::vector<std::pair<std::string, std::size_t>>
      redacted;                            // Kind ("serial_numbers") → how often.
  std::vector<std::string> no_permission;  // Paths that this user may not read, sorted.
  std::size_t unreadable = 0;              // Reads that failed for another reason.
  bool more_as_root = false;               // The superuser would see more.
  // Where `check` says something else of the capture than of the machine: JSON pointers.
  std::vector<std::string> differences;
};

Json to_json(const CaptureReport& report);
std::string to_text(const CaptureReport& report, const Style& style);

}  // namespace headroom::report
