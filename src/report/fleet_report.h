// SPDX-License-Identifier: Apache-2.0
// What `headroom check --json` said on many machines, as one table: the worst first, and what is to
// be done, by cause.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/document_fwd.h"
#include "base/result.h"
#include "findings/finding.h"
#include "report/style.h"

namespace headroom::report {

struct FleetGpu {
  std::string name, gfx;
  std::optional<Bytes> limit;  // The limit that a job meets first.
};

struct FleetFinding {
  std::string id, next;
  findings::Severity severity = findings::Severity::info;
};

struct FleetMachine {
  std::string name;  // Of its file, without ".json".
  findings::Verdict verdict = findings::Verdict::unknown;
  std::string cause;  // Its id; empty: none.
  std::string title;  // What is the case, without a full stop.
  std::vector<FleetGpu> gpus;
  std::vector<FleetFinding> findings;
};

struct UnreadMachine {
  std::string name, why;
};

struct Fleet {
  std::vector<FleetMachine> machines;
  std::vector<UnreadMachine> unread;
};

// From a document of headroom.check/1. Fails with invalid where it is none.
Result<FleetMachine> read_fleet_machine(const std::string& name, const Json& document);

// Puts the worst first, and of equals by name, in which numbers count as numbers.
void sort_fleet(Fleet& fleet);

std::string to_text(const Fleet& fleet, const Style& style);
// headroom.fleet/1 (docs/schema/fleet.schema.json).
nlohmann::ordered_json to_json(const Fleet& fleet);

// A machine on which no job can run, or whose answer could not be read.
bool has_problem(const Fleet& fleet);

}  // namespace headroom::report
