// SPDX-License-Identifier: Apache-2.0
// One run of the past: what was planned for it and what was measured. The planner is judged by
// these, machine by machine; what stores them is history/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/component.h"
#include "base/document.h"
#include "base/result.h"
#include "estimate/models/architecture.h"
#include "estimate/plan.h"

namespace headroom::estimate {

// The highest amounts of a run, planned or measured; nothing where nobody looked.
struct MemoryPeak {
  std::optional<std::uint64_t> allocated_bytes;
  std::optional<std::uint64_t> reserved_bytes;
  std::optional<std::uint64_t> device_bytes;
  std::optional<allocator::ByComponent> components;  // At the allocated peak.
};

enum class Outcome : std::uint8_t {
  completed,
  stopped,        // Ended early for another reason than memory, after a whole step.
  out_of_memory,  // What was measured is what was reached until then, no peak.
};
std::string_view to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view name);

struct PastRun {
  std::string time;          // Of its end, UTC, ISO 8601: "2026-11-21T22:30:11Z".
  std::string headroom;      // The version that planned it.
  std::string family;        // model_type
  std::string model;         // Its name, where the job had one.
  std::string architecture;  // fingerprint()
  std::string engine;
  std::string engine_version;  // "" where it is not known.
  std::string method;
  std::string device;  // A card's name, "host", or "" where it is not known.
  Json job;            // job_json.h
  MemoryPeak predicted;
  MemoryPeak measured;
  Outcome outcome = Outcome::completed;
};

// The same for all models of one shape, whatever their files say beside it: 16 hexadecimal digits
// of a hash (FNV-1a) of the numbers that its memory follows from.
std::string fingerprint(const Architecture& model);

// What a plan says of a run that is to come: all but time, outcome and measurement.
PastRun describe_run(const Plan& plan, const Architecture& model);

// A run's report: headroom-train's (docs/schema/train.schema.json), or what another program wrote:
// {"measured": {"allocated_bytes": …, "reserved_bytes", "device_bytes", "components"}, "completed",
// "engine_version", "device"}, of which allocated_bytes alone is needed. Sets what the report says:
// measurement, outcome, and the plan it names, if any. Fails, naming the key, where it is none, or
// where no whole step was run.
Status add_report(const Json& report, PastRun& run);

// {"allocated_bytes": …, "components": {…}}, without what is not known; and back.
Json to_json(const MemoryPeak& peak);
Result<MemoryPeak> parse_memory_peak(const Json& json);

}  // namespace headroom::estimate
