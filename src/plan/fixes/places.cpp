// SPDX-License-Identifier: Apache-2.0
#include "plan/fixes/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "facts/what_if.h"
#include "plan/confirm_unit.h"
#include "plan/forecast.h"

namespace headroom::plan {
namespace {

constexpr std::string_view drop_in_name = "zz-headroom.conf";

Step drop_in(const FixSubject& subject, const std::string& path, std::string_view section,
             const std::string& line) {
  const facts::ConfigFile* there = setting_file(subject, path);
  FileEdit edit;
  edit.path = path;
  if (there != nullptr) edit.before = there->text;
  std::string after = there == nullptr ? "# Made by headroom.\n" : there->text;
  if (!after.empty() && after.back() != '\n') after += '\n';
  edit.after = after + fmt::format("[{}]\n{}\n", section, line);
  Step step;
  step.kind = StepKind::service;
  step.action = std::move(edit);
  return step;
}

}  // namespace

bool is_editable(std::string_view path) {
  if (path.starts_with("/usr/local/")) return true;
  constexpr std::array ours_not = {"/usr/", "/nix/", "/gnu/", "/run/", "/snap/", "/lib/"};
  return std::none_of(ours_not.begin(), ours_not.end(),
                      [&](const char* folder) { return path.starts_with(folder); });
}

bool is_in_home(const FixOptions& options, std::string_view path) {
  if (options.home.empty() || options.home == "/") return false;
  // Image-based systems have /home as a link to /var/home.
  return path.starts_with(options.home + "/") || path.starts_with("/var" + options.home + "/");
}

bool needs_root(const FixOptions& options, std::string_view path) {
  return !is_in_home(options, path);
}

std::optional<std::string> service_of(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string_view folder = path.substr(0, path.size() - name.size());
  if (folder.ends_with(".d/")) {
    name = folder.substr(0, folder.size() - 3);
    name = name.substr(name.rfind('/') + 1);
  }
  constexpr std::array units = {".service", ".slice", ".scope", ".socket"};
  for (const std::string_view ending : units) {
    if (name.ends_with(ending)) return std::string(name);
  }
  constexpr std::string_view quadlet = ".container";
  if (!name.ends_with(quadlet)) return std::nullopt;
  return std::string(name.substr(0, name.size() - quadlet.size())) + ".service";
}

const facts::ConfigFile* setting_file(const FixSubject& subject, std::string_view path) {
  for (const facts::ConfigFile& file : subject.setting_files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

Step add_to_drop_in(const FixSubject& subject, const std::string& unit, std::string_view section,
                    const std::string& line) {
  return drop_in(subject, fmt::format("/etc/systemd/system/{}.d/{}", unit, drop_in_name), section,
                 line);
}

Step add_to_user_drop_in(const FixSubject& subject, const std::string& unit,
                         std::string_view section, const std::string& line) {
  Step step = drop_in(
      subject,
      fmt::format("{}/.config/systemd/user/{}.d/{}", subject.options.home, unit, drop_in_name),
      section, line);
  step.needs_root = false;
  return step;
}

void add_daemon_reload(const FixSubject& subject, Change& change) {
  if (!subject.boot.has("systemctl")) {
    change.notes.emplace_back("First: sudo systemctl daemon-reload");
    return;
  }
  Command command;
  command.argv = {"systemctl", "daemon-reload"};
  command.undo = command.argv;
  command.undo_run = UndoRun::always;
  Step step;
  step.kind = StepKind::service;
  step.what = "Make systemd reload its units";
  step.action = std::move(command);
  change.steps.push_back(std::move(step));
}

Step by_hand(std::string text) {
  Step step;
  step.kind = StepKind::by_hand;
  step.what = "By hand";
  bool verbatim = false;
  const std::size_t end = text.find(":\n");
  if (end < text.find('\n')) {  // Its first line is a title.
    verbatim = true;
    step.what = text.substr(0, end);
    text.erase(0, end + 2);
  }
  step.action = Instruction{std::move(text), verbatim};
  step.needs_root = false;
  return step;
}

bool acts(const Result<Change>& change) {
  return change && std::any_of(change->steps.begin(), change->steps.end(), [](const Step& step) {
           return !std::holds_alternative<Instruction>(step.action);
         });
}

void expect_the_same(const FixSubject& subject, Change& change) {
  change.needs_reboot = true;
  Forecast forecast = make_forecast(facts::predict(subject.facts, {}), {});
  if (forecast.rungs.empty()) {
    change.notes.emplace_back("After the reboot: sudo headroom confirm");
    return;
  }
  change.forecast = std::move(forecast);
  add_confirm_unit(change, subject.boot, subject.options);
}

Error not_needed(std::string_view id, std::string message) {
  return {Errc::invalid, fmt::format("{}: {}", id, message),
          "headroom fix   (lists what headroom can fix here)"};
}

}  // namespace headroom::plan
