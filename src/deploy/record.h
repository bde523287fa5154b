// SPDX-License-Identifier: Apache-2.0
// How far a deployment has come, as a small value that the driver writes down before each step.
// Whoever finds it after kill -9 or a loss of power knows from it alone what has to be done:
// nothing, the way back, or the end of a commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "deploy/answer.h"
#include "findings/diagnosis.h"
#include "supervisor/policy.h"

namespace headroom::deploy {

// Milliseconds since 1970 by the driver's clock, which it never lets go back: a record outlives the
// boot that it was written in.
using Time = supervisor::Time;

// Each says what may have been done by the one who wrote it, and no more.
enum class Stage : std::uint8_t {
  looking,       // Gate and baseline. Nothing was touched.
  stopping,      // The old configuration may have been stopped. Files are as they were.
  applying,      // The change may have begun: its journal knows.
  starting,      // The new configuration is in place and may have been started.
  smoking,       // It was healthy; smoke test, use of the GPU and speed.
  watching,      // All of that was well.
  committing,    // It was decided to keep the new configuration.
  rolling_back,  // It was decided to go back, for `cause` or `why`.
  over,          // Nothing is left to do.
};

enum class Outcome : std::uint8_t {
  committed,
  rolled_back,
  refused,
  planned,
  tried,  // Of a trial: no record and no report of a deployment has it.
};

struct TimelineEntry {
  Time when{0};
  std::string event;
};

struct Record {
  std::string name;  // Of the service.
  std::string spec;  // The path of SERVICE.toml, absolute.
  Time began{0};
  Stage stage = Stage::looking;
  std::string change_id;    // Of the change engine's journal; empty before it is known.
  bool was_running = true;  // The service ran when this began, and is to run when it ends.
  std::optional<SmokeRun> baseline;
  std::optional<double> candidate_ms;    // The median of its smoke test.
  std::optional<Time> stopped;           // When the old configuration was told to stop.
  std::optional<Time> first_failure;     // Of the candidate.
  std::optional<findings::Cause> cause;  // Of the roll-back or the refusal.
  std::string why;                       // Of a roll-back without a cause: "interrupted".
  std::vector<TimelineEntry> timeline;
  std::optional<Outcome> outcome;  // Once it is over,
  std::optional<Time> ended;       // and when.
  std::optional<bool> restored;
};

// Whether something is left to be done before anything else may be: the old configuration is put
// back, or a commit is ended.
bool needs_finishing(const Record& record);

// headroom.deploy-record/1, with a line end; and back. Fails with invalid where a field is missing
// or has another type, with unsupported where another version wrote it.
std::string to_json_text(const Record& record);
Result<Record> parse_record(std::string_view text);

// What the change engine's journal calls the change of a service: plan::Change::fix. By it a change
// that had begun is found where the record does not know its id yet.
std::string change_name(const std::string& service);

std::string_view to_string(Stage stage);
std::string_view to_string(Outcome outcome);

}  // namespace headroom::deploy
