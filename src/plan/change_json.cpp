// SPDX-License-Identifier: Apache-2.0
#include "plan/change_json.h"

#include "base/document.h"
#include "plan/json_fields.h"

namespace headroom::plan {

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

constexpr std::uint32_t largest_mode = 07777;

Action read_action(const Fields& fields) {
  const std::string kind = fields.text("action");
  if (kind == "file") {
    FileEdit edit{fields.text("path"), fields.optional_text("before"),
                  fields.optional_text("after"), std::nullopt};
    if (const auto mode = fields.optional_number("mode", largest_mode)) {
      edit.mode = static_cast<std::uint32_t>(*mode);
    }
    return edit;
  }
  if (kind == "link") {
    return LinkEdit{fields.text("path"), fields.optional_text("before"),
                    fields.optional_text("after")};
  }
  if (kind == "command") {
    Command command{fields.texts("argv"), fields.texts("edits"), fields.texts("generates"),
                    fields.texts("undo"), fields.choice("undo_run", UndoRun::always)};
    if (command.argv.empty()) fields.say("argv", "a program and its arguments");
    return command;
  }
  if (kind != "instruction") fields.say("action", "file, link, command or instruction");
  return Instruction{fields.text("text")};
}

Step read_step(const Fields& fields) {
  Step step;
  step.kind = fields.choice("kind", StepKind::by_hand);
  step.what = fields.text("what");
  step.why = fields.text("why");
  step.action = read_action(fields);
  fields.each("expects", [&step](const Fields& one) {
    step.expects.push_back(
        {one.choice("kind", Expectation::Kind::image_holds), one.text("path"), one.text("text")});
  });
  step.needs_root = fields.boolean("needs_root");
  return step;
}

std::vector<Step> read_steps(const Fields& fields, std::string_view key) {
  std::vector<Step> steps;
  fields.each(key, [&steps](const Fields& one) { steps.push_back(read_step(one)); });
  return steps;
}

Forecast read_forecast(const Fields& fields) {
  Forecast forecast;
  fields.each("rungs", [&forecast](const Fields& one) {
    forecast.rungs.push_back({one.text("gpu"), one.text("rung"), Bytes{one.number("limit_bytes")},
                              one.boolean("binding"),
                              one.has("at_most") && one.boolean("at_most")});
  });
  fields.each("parameters", [&forecast](const Fields& one) {
    forecast.parameters.emplace_back(one.text("name"), one.text("value"));
  });
  forecast.kernel = fields.text("kernel");
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

Change read_change(const Fields& fields) {
  Change change;
  change.fix = fields.text("fix");
  change.title = fields.text("title");
  change.words = fields.texts("words");
  change.steps = read_steps(fields, "steps");
  change.on_confirm = read_steps(fields, "on_confirm");
  change.warnings = fields.texts("warnings");
  change.notes = fields.texts("notes");
  change.needs_reboot = fields.boolean("needs_reboot");
  if (fields.has("forecast")) change.forecast = read_forecast(fields.object("forecast"));
  change.boots_with = fields.texts("boots_with");
  change.boots_without = fields.texts("boots_without");
  change.fallback = fields.choice("fallback", BootFallback::by_hand);
  change.rescue = fields.texts("rescue");
  return change;
}

Result<Change> change_from_json(const Json& json) {
  Mistake mistake;
  Change change = read_change(Fields(json, "", mistake));
  if (mistake.error) return *std::move(mistake.error);
  return change;
}

}  // namespace headroom::plan
