// SPDX-License-Identifier: Apache-2.0
#include "plan/change_json.h"

#include "base/byte_json.h"
#include "base/document.h"
#include "base/document_reader.h"

namespace headroom::plan {

using Ordered = nlohmann::ordered_json;

// As the file says them; beside the one JSON spelling of each.
static std::string_view to_string(UndoRun run) {
  switch (run) {
    case UndoRun::never:
      return "never";
    case UndoRun::if_changed:
      return "if-changed";
    case UndoRun::always:
      return "always";
  }
  return "";
}

static std::string_view to_string(Expectation::Kind kind) {
  switch (kind) {
    case Expectation::Kind::file_contains:
      return "file-contains";
    case Expectation::Kind::file_lacks:
      return "file-lacks";
    case Expectation::Kind::image_holds:
      return "image-holds";
  }
  return "";
}

namespace {

Ordered action_to_json(const FileEdit& edit) {
  return {{"action", "file"},
          {"path", bytes_to_json(edit.path)},
          {"before", bytes_to_json(edit.before)},
          {"after", bytes_to_json(edit.after)},
          {"mode", edit.mode ? Ordered(*edit.mode) : Ordered(nullptr)}};
}

Ordered action_to_json(const LinkEdit& edit) {
  return {{"action", "link"},
          {"path", bytes_to_json(edit.path)},
          {"before", bytes_to_json(edit.before)},
          {"after", bytes_to_json(edit.after)}};
}

Ordered action_to_json(const Command& command) {
  return {{"action", "command"},
          {"argv", bytes_to_json(command.argv)},
          {"edits", bytes_to_json(command.edits)},
          {"generates", bytes_to_json(command.generates)},
          {"undo", bytes_to_json(command.undo)},
          {"undo_run", to_string(command.undo_run)}};
}

Ordered action_to_json(const Instruction& instruction) {
  return {{"action", "instruction"}, {"text", bytes_to_json(instruction.text)}};
}

Ordered steps_to_json(const std::vector<Step>& steps) {
  Ordered json = Ordered::array();
  for (const Step& step : steps) json.push_back(to_json(step));
  return json;
}

constexpr Range file_modes = {0, 07777};

Action read_action(TableReader& table) {
  const std::string kind = table.text("action");
  if (kind == "file") {
    FileEdit edit{table.byte_string("path"), table.nullable_byte_string("before"),
                  table.nullable_byte_string("after"), std::nullopt};
    if (const auto mode = table.nullable_number("mode", file_modes)) {
      edit.mode = static_cast<std::uint32_t>(*mode);
    }
    return edit;
  }
  if (kind == "link") {
    return LinkEdit{table.byte_string("path"), table.nullable_byte_string("before"),
                    table.nullable_byte_string("after")};
  }
  if (kind == "command") {
    Command command{table.byte_strings("argv"), table.byte_strings("edits"),
                    table.byte_strings("generates"), table.byte_strings("undo"),
                    table.choice("undo_run", UndoRun::always)};
    if (command.argv.empty()) table.wrong("argv", "a program and its arguments");
    return command;
  }
  if (kind != "instruction") table.wrong("action", "file, link, command or instruction");
  return Instruction{table.byte_string("text"), false};
}

Step read_step(TableReader& table) {
  Step step;
  step.kind = table.choice("kind", StepKind::by_hand);
  step.what = table.byte_string("what");
  step.why = table.byte_string("why");
  step.action = read_action(table);
  for (TableReader& one : table.tables("expects")) {
    step.expects.push_back({one.choice("kind", Expectation::Kind::image_holds),
                            one.byte_string("path"), one.byte_string("text")});
  }
  step.needs_root = table.flag("needs_root");
  return step;
}

std::vector<Step> read_steps(TableReader& table, std::string_view key) {
  std::vector<Step> steps;
  for (TableReader& one : table.tables(key)) steps.push_back(read_step(one));
  return steps;
}

Forecast read_forecast(TableReader table) {
  Forecast forecast;
  for (TableReader& one : table.tables("rungs")) {
    forecast.rungs.push_back({one.byte_string("gpu"), one.byte_string("rung"),
                              Bytes{one.number("limit_bytes")}, one.flag("binding"),
                              one.has("at_most") && one.flag("at_most")});
  }
  for (TableReader& one : table.tables("parameters")) {
    forecast.parameters.emplace_back(one.byte_string("name"), one.byte_string("value"));
  }
  forecast.kernel = table.byte_string("kernel");
  return forecast;
}

}  // namespace

Ordered to_json(const Step& step) {
  Ordered json = {{"kind", to_string(step.kind)},
                  {"what", bytes_to_json(step.what)},
                  {"why", bytes_to_json(step.why)}};
  json.update(std::visit([](const auto& action) { return action_to_json(action); }, step.action));
  json["expects"] = Ordered::array();
  for (const Expectation& expected : step.expects) {
    json["expects"].push_back({{"kind", to_string(expected.kind)},
                               {"path", bytes_to_json(expected.path)},
                               {"text", bytes_to_json(expected.text)}});
  }
  json["needs_root"] = step.needs_root;
  return json;
}

Ordered to_json(const Forecast& forecast) {
  Ordered json = {{"rungs", Ordered::array()}, {"parameters", Ordered::array()}};
  for (const PredictedRung& rung : forecast.rungs) {
    json["rungs"].push_back({{"gpu", bytes_to_json(rung.gpu)},
                             {"rung", bytes_to_json(rung.rung)},
                             {"limit_bytes", rung.limit.value},
                             {"binding", rung.binding}});
    if (rung.at_most) json["rungs"].back()["at_most"] = true;
  }
  for (const auto& [name, value] : forecast.parameters) {
    json["parameters"].push_back({{"name", bytes_to_json(name)}, {"value", bytes_to_json(value)}});
  }
  json["kernel"] = bytes_to_json(forecast.kernel);
  return json;
}

Ordered to_json(const Change& change) {
  return {{"fix", bytes_to_json(change.fix)},
          {"title", bytes_to_json(change.title)},
          {"words", bytes_to_json(change.words)},
          {"steps", steps_to_json(change.steps)},
          {"on_confirm", steps_to_json(change.on_confirm)},
          {"warnings", bytes_to_json(change.warnings)},
          {"notes", bytes_to_json(change.notes)},
          {"needs_reboot", change.needs_reboot},
          {"forecast", change.forecast ? to_json(*change.forecast) : Ordered(nullptr)},
          {"boots_with", bytes_to_json(change.boots_with)},
          {"boots_without", bytes_to_json(change.boots_without)},
          {"fallback", to_string(change.fallback)},
          {"rescue", bytes_to_json(change.rescue)}};
}

Change read_change(TableReader& table) {
  Change change;
  change.fix = table.byte_string("fix");
  change.title = table.byte_string("title");
  change.words = table.byte_strings("words");
  change.steps = read_steps(table, "steps");
  change.on_confirm = read_steps(table, "on_confirm");
  change.warnings = table.byte_strings("warnings");
  change.notes = table.byte_strings("notes");
  change.needs_reboot = table.flag("needs_reboot");
  if (table.has("forecast")) change.forecast = read_forecast(table.table("forecast"));
  change.boots_with = table.byte_strings("boots_with");
  change.boots_without = table.byte_strings("boots_without");
  change.fallback = table.choice("fallback", BootFallback::by_hand);
  change.rescue = table.byte_strings("rescue");
  return change;
}

DocumentWords record_words() {
  return {.spelling = Spelling::json, .root = "/", .next = "headroom history"};
}

Result<Change> change_from_json(const Json& json) {
  DocumentReader reader(json, record_words());
  TableReader table = reader.root();
  Change change = read_change(table);
  HEADROOM_CHECK(reader.finish());
  return change;
}

}  // namespace headroom::plan
