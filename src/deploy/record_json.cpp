// SPDX-License-Identifier: Apache-2.0
// A deployment's record as JSON, and back: the schema headroom.deploy-record/1 of the state folder.
#include <fmt/format.h>

#include <limits>

#include "base/byte_json.h"
#include "base/document.h"
#include "base/document_reader.h"
#include "base/json_text.h"
#include "deploy/record.h"

namespace headroom::deploy {
namespace {

using findings::Cause;
using findings::Evidence;
using findings::Step;
using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view schema = "headroom.deploy-record/1";

// ---- to JSON ----

OrderedJson steps_to_json(const std::vector<Step>& steps) {
  OrderedJson list = OrderedJson::array();
  for (const Step& step : steps) {
    list.push_back(
        {{"command", step.is_command()},
         {"text", bytes_to_json(step.run.empty() ? step.text : step.text + ": " + step.run)},
         {"remark", bytes_to_json(step.remark)}});
  }
  return list;
}

OrderedJson cause_to_json(const Cause& cause) {
  OrderedJson evidence = OrderedJson::array();
  for (const Evidence& one : cause.evidence) {
    evidence.push_back({{"source", bytes_to_json(one.source)},
                        {"line", one.line},
                        {"text", bytes_to_json(one.text)},
                        {"meaning", bytes_to_json(one.meaning)}});
  }
  return {{"id", cause.id},
          {"title", bytes_to_json(cause.title)},
          {"confidence", cause.confidence},
          {"reasons", bytes_to_json(cause.reasons)},
          {"evidence", evidence},
          {"fix", steps_to_json(cause.fix)},
          {"gpus", cause.gpus}};
}

// A baseline that a record keeps has passed: it has no fault.
OrderedJson run_to_json(const SmokeRun& run) {
  OrderedJson json = {{"ms", run.ms}, {"status", nullptr}, {"body", nullptr}};
  if (run.first) {
    json["status"] = run.first->status;
    json["body"] = bytes_to_json(run.first->body);
  }
  return json;
}

OrderedJson time_to_json(const std::optional<Time>& time) {
  return time ? OrderedJson(time->count()) : OrderedJson(nullptr);
}

// ---- from JSON ----

std::optional<Time> read_time(TableReader& table, std::string_view key) {
  const auto ms = table.nullable_number(
      key, {0, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())});
  if (!ms) return std::nullopt;
  return Time(static_cast<std::int64_t>(*ms));
}

std::vector<Step> read_steps(TableReader& table, std::string_view key) {
  std::vector<Step> steps;
  for (TableReader& row : table.tables(key)) {
    Step step;
    step.kind = row.flag("command") ? Step::Kind::command : Step::Kind::sentence;
    step.text = row.byte_string("text");
    step.remark = row.byte_string("remark");
    row.refuse_unknown();
    steps.push_back(std::move(step));
  }
  return steps;
}

Cause read_cause(TableReader table) {
  Cause cause;
  cause.id = table.text("id");
  cause.title = table.byte_string("title");
  table.read("confidence", cause.confidence, 0, 1);
  cause.reasons = table.byte_strings("reasons");
  for (TableReader& row : table.tables("evidence")) {
    Evidence one;
    one.source = row.byte_string("source");
    one.line = static_cast<int>(row.number("line", {0, std::numeric_limits<int>::max()}));
    one.text = row.byte_string("text");
    one.meaning = row.byte_string("meaning");
    row.refuse_unknown();
    cause.evidence.push_back(std::move(one));
  }
  cause.fix = read_steps(table, "fix");
  table.read("gpus", cause.gpus);
  table.refuse_unknown();
  return cause;
}

SmokeRun read_run(TableReader table) {
  SmokeRun run;
  table.read("ms", run.ms);
  const auto status = table.nullable_number("status", {0, 999});
  auto body = table.nullable_byte_string("body");
  if (body) {
    run.first.emplace();
    run.first->status = static_cast<int>(status.value_or(0));
    run.first->body = std::move(*body);
    if (!run.ms.empty()) run.first->ms = run.ms.front();
  }
  table.refuse_unknown();
  return run;
}

void read_end(TableReader& table, Record& record) {
  if (table.has("outcome")) {
    const TableReader::Words<Outcome> outcomes = {{"committed", Outcome::committed},
                                                  {"rolled-back", Outcome::rolled_back},
                                                  {"refused", Outcome::refused},
                                                  {"planned", Outcome::planned}};
    record.outcome = table.word("outcome", outcomes);
  } else {
    table.find("outcome");
  }
  record.ended = read_time(table, "ended_ms");
  if (table.has("restored")) {
    record.restored = table.flag("restored");
  } else {
    table.find("restored");
  }
}

Record read_record(TableReader& table) {
  Record record;
  table.find("schema");
  record.name = table.text("name");
  record.spec = table.byte_string("spec");
  record.began = read_time(table, "began_ms").value_or(Time{0});
  record.stage = table.choice("stage", Stage::over);
  record.change_id = table.text("change_id");
  record.was_running = table.flag("was_running");
  if (table.has("baseline")) {
    record.baseline = read_run(table.table("baseline"));
  } else {
    table.find("baseline");
  }
  if (table.has("candidate_ms")) {
    double ms = 0;
    table.read("candidate_ms", ms, 0, 1e12);
    record.candidate_ms = ms;
  } else {
    table.find("candidate_ms");
  }
  record.stopped = read_time(table, "stopped_ms");
  record.first_failure = read_time(table, "first_failure_ms");
  if (table.has("cause")) {
    record.cause = read_cause(table.table("cause"));
  } else {
    table.find("cause");
  }
  record.why = table.byte_string("why");
  for (TableReader& row : table.tables("timeline")) {
    const Time when = read_time(row, "ms").value_or(Time{0});
    record.timeline.push_back({when, row.byte_string("event")});
    row.refuse_unknown();
  }
  read_end(table, record);
  table.refuse_unknown();
  return record;
}

}  // namespace

std::string to_json_text(const Record& record) {
  OrderedJson timeline = OrderedJson::array();
  for (const TimelineEntry& entry : record.timeline) {
    timeline.push_back({{"ms", entry.when.count()}, {"event", bytes_to_json(entry.event)}});
  }
  const OrderedJson json = {
      {"schema", schema},
      {"name", record.name},
      {"spec", bytes_to_json(record.spec)},
      {"began_ms", record.began.count()},
      {"stage", to_string(record.stage)},
      {"change_id", record.change_id},
      {"was_running", record.was_running},
      {"baseline", record.baseline ? run_to_json(*record.baseline) : OrderedJson(nullptr)},
      {"candidate_ms",
       record.candidate_ms ? OrderedJson(*record.candidate_ms) : OrderedJson(nullptr)},
      {"stopped_ms", time_to_json(record.stopped)},
      {"first_failure_ms", time_to_json(record.first_failure)},
      {"cause", record.cause ? cause_to_json(*record.cause) : OrderedJson(nullptr)},
      {"why", bytes_to_json(record.why)},
      {"timeline", timeline},
      {"outcome", record.outcome ? OrderedJson(to_string(*record.outcome)) : OrderedJson(nullptr)},
      {"ended_ms", time_to_json(record.ended)},
      {"restored", record.restored ? OrderedJson(*record.restored) : OrderedJson(nullptr)},
  };
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

Result<Record> parse_record(std::string_view text) {
  HEADROOM_TRY(const Json json, parse_json(text));
  const std::string next =
      "another version of headroom may have written it; finish it with that one";
  if (!json.is_object() || !json.contains("schema") || json["schema"] != schema) {
    return Error{Errc::unsupported,
                 fmt::format("expected a record of {}, found another document", schema), next};
  }
  DocumentReader reader(json, {Spelling::json, "the record", "", next});
  TableReader table = reader.root();
  Record record = read_record(table);
  HEADROOM_CHECK(reader.finish());
  return record;
}

}  // namespace headroom::deploy
