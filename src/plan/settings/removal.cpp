// SPDX-License-Identifier: Apache-2.0
#include "plan/settings/removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/fixes/places.h"
#include "plan/settings/told.h"

namespace headroom::plan {
namespace {

using facts::ConfigFile;
using facts::Setting;
using findings::Judgement;

std::string sentence(std::string text) {
  if (text.empty()) return text;
  const std::string first = text.substr(0, text.find(' '));
  const bool name = first.find_first_of("_.=0123456789") != std::string::npos;
  if (!name && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (text.back() != '.') text += '.';
  return text;
}

Setting to_setting(const SettingPlace& place, const std::string& path, std::string value) {
  Setting setting;
  setting.name = place.name;
  setting.source = {path, place.line, place.name + "=" + value};
  setting.value = std::move(value);
  setting.scope = scope_of(path);
  setting.form = place.form;
  setting.exported = place.exported;
  return setting;
}

class Planner {
 public:
  Planner(const FixSubject& subject, const Decision& decide, Change& change)
      : subject_(subject), decide_(decide), change_(change) {}

  bool run() {
    for (const ConfigFile& file : subject_.setting_files) read_file(file);
    add_reload();
    for (const std::string& text : told_) {
      change_.steps.push_back(by_hand(text));
    }
    name_what_still_runs();
    return acts_;
  }

 private:
  std::vector<Judgement> audit(const std::vector<Setting>& settings) const {
    return findings::audit_knobs(settings, subject_.facts, subject_.tables);
  }

  std::vector<SettingPlace> places_beside(const std::string& path) const {
    const std::string beside = path.substr(0, path.rfind('/')) + "/.env";
    for (const ConfigFile& file : subject_.setting_files) {
      if (file.path == beside) return find_in_assignments(file.text).places;
    }
    return {};
  }

  void read_file(const ConfigFile& file) {
    const SettingSyntax syntax = syntax_of(file.path);
    const SettingLines lines = find_setting_lines(syntax, file.text);
    const auto beside =
        syntax == SettingSyntax::compose ? places_beside(file.path) : std::vector<SettingPlace>{};
    std::vector<Setting> settings;
    std::vector<std::size_t> owners;  // Of each setting, its place.
    for (std::size_t i = 0; i < lines.places.size(); ++i) {
      auto value = expand_value(lines.places[i].value, beside);
      if (!value) continue;
      settings.push_back(to_setting(lines.places[i], file.path, *std::move(value)));
      owners.push_back(i);
    }
    std::vector<PlaceRewrite> rewrites(lines.places.size());
    std::vector<Judgement> wrong;
    std::size_t next = 0;
    for (Judgement& judged : audit(settings)) {
      if (judged.is_option()) continue;  // Follows its variable's own.
      const std::size_t place = owners[next++];
      rewrites[place] = decide_(judged);
      if (rewrites[place].what != Rewrite::keep) wrong.push_back(std::move(judged));
    }
    std::string after = rewrite(file.text, lines, rewrites);
    tell_others({file.path, after}, syntax);
    if (wrong.empty()) return;
    if (is_editable(file.path)) {
      add_edit(file, std::move(after), wrong, rewrites);
    } else {
      override_vendor(file, wrong);
    }
  }

  void add_edit(const ConfigFile& file, std::string after, const std::vector<Judgement>& wrong,
                const std::vector<PlaceRewrite>& rewrites) {
    std::string renamed;
    for (const PlaceRewrite& one : rewrites) {
      if (one.what == Rewrite::rename) renamed = one.name;
    }
    std::vector<std::string> names;
    std::string lines;
    for (const Judgement& judged : wrong) {
      const std::string shown = judged.name + "=" + judged.value;
      if (std::find(names.begin(), names.end(), shown) == names.end()) names.push_back(shown);
      lines += fmt::format("{}{}", lines.empty() ? "" : ", ", judged.setting.source.line);
    }
    Step step;
    step.kind = StepKind::environment;
    step.what = renamed.empty() ? fmt::format("Remove {} from {} (line {})", join(names, " and "),
                                              file.path, lines)
                                : fmt::format("Rename {} to {} in {} (line {})", wrong.front().name,
                                              renamed, file.path, lines);
    step.why = sentence(wrong.front().why);
    step.action = FileEdit{file.path, file.text, std::move(after), std::nullopt};
    step.needs_root = needs_root(subject_.options, file.path);
    change_.steps.push_back(std::move(step));
    acts_ = true;
    say_what_next(file.path);
  }

  void say_what_next(const std::string& path) {
    const SettingSyntax syntax = syntax_of(path);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (syntax == SettingSyntax::unit || syntax == SettingSyntax::quadlet) {
      const auto unit = service_of(path);
      const bool own = !needs_root(subject_.options, path);
      (own ? reload_user_ : reload_) = true;
      if (unit) {
        change_.notes.push_back(fmt::format("Then run: {} restart {}",
                                            own ? "systemctl --user" : "sudo systemctl", *unit));
      } else {
        change_.notes.emplace_back("It takes effect at the next boot.");
      }
    } else if (syntax == SettingSyntax::compose ||
               (syntax == SettingSyntax::assignments && name == ".env")) {
      change_.notes.push_back(fmt::format(
          "Then run in {}: docker compose up -d   (creates the container again, without it)",
          path.substr(0, path.rfind('/'))));
    } else {
      log_in_again_ = true;
    }
  }

  // A unit of the distribution is left as it is; a drop-in takes the variable away again.
  void override_vendor(const ConfigFile& file, const std::vector<Judgement>& wrong) {
    const auto unit = service_of(file.path);
    const bool vendor = syntax_of(file.path) == SettingSyntax::unit && unit &&
                        file.path.find("/systemd/system/") != std::string::npos;
    std::set<std::string> names;
    for (const Judgement& judged : wrong) names.insert(judged.name);
    if (!vendor) {
      for (const std::string& name : names) told_.push_back(told_of_vendor(file.path, name));
      return;
    }
    const std::string folder = "/etc/systemd/system/" + *unit + ".d/";
    for (const ConfigFile& other : subject_.setting_files) {
      if (!other.path.starts_with(folder)) continue;
      for (const std::string_view line : split_lines(other.text)) {
        if (!trim(line).starts_with("UnsetEnvironment=")) continue;
        for (const auto word : split_words(line.substr(line.find('=') + 1))) {
          names.erase(std::string(word));
        }
      }
    }
    if (names.empty()) return;
    const std::vector<std::string> list(names.begin(), names.end());
    Step step = add_to_drop_in(subject_, *unit, "Service", "UnsetEnvironment=" + join(list, " "));
    step.kind = StepKind::environment;
    step.what = fmt::format("Unset {} for {} in a drop-in", join(list, " and "), *unit);
    step.why = fmt::format("{} sets it, but the next update replaces that file. {}", file.path,
                           sentence(wrong.front().why));
    change_.steps.push_back(std::move(step));
    acts_ = true;
    reload_ = true;
    change_.notes.push_back(fmt::format("Then run: sudo systemctl restart {}", *unit));
  }

  // What the readers of check still find once the edits are done: in programs' arguments, in
  // strings.
  void tell_others(const ConfigFile& after, SettingSyntax syntax) {
    std::vector<Setting> others;
    for (Setting& setting : settings_told(after, syntax)) {
      auto value = expand_value(setting.value, {});
      if (!value) continue;
      setting.value = *std::move(value);
      others.push_back(std::move(setting));
    }
    for (const Judgement& judged : audit(others)) {
      if (judged.is_option() || decide_(judged).what == Rewrite::keep) continue;
      told_.push_back(told_of(judged.setting, syntax));
    }
  }

  void add_reload() {
    if (reload_) add_daemon_reload(subject_, change_);
    if (reload_user_) change_.notes.emplace_back("First: systemctl --user daemon-reload");
    if (log_in_again_)
      change_.notes.emplace_back("Log in again. Programs that are running keep the old value.");
  }

  // The settings that no file holds any more: of shells and of jobs under way.
  void name_what_still_runs() {
    for (const Judgement& judged : audit(subject_.facts.environment.settings)) {
      if (judged.is_option() || decide_(judged).what == Rewrite::keep) continue;
      const Setting& setting = judged.setting;
      const std::string shown = judged.name + "=" + judged.value;
      if (setting.scope == facts::Scope::process) {
        change_.notes.push_back(
            fmt::format("Process {} still runs with {}. Restart it.", setting.pid, shown));
      } else if (setting.scope == facts::Scope::shell) {
        change_.notes.push_back(
            fmt::format("This shell still has {}: unset {}", shown, judged.name));
      } else if (setting.scope == facts::Scope::container) {
        change_.steps.push_back(by_hand(fmt::format(
            "On the host, start this container without {}, and check whether its image sets it.",
            shown)));
      }
    }
  }

  const FixSubject& subject_;
  const Decision& decide_;
  Change& change_;
  std::vector<std::string> told_;
  bool acts_ = false, reload_ = false, reload_user_ = false, log_in_again_ = false;
};

}  // namespace

bool plan_removal(const FixSubject& subject, const Decision& decide, Change& change) {
  return Planner(subject, decide, change).run();
}

std::optional<std::string> expand_value(const std::string& value,
                                        const std::vector<SettingPlace>& beside) {
  if (value.find('$') == std::string::npos) return value;
  std::string_view name = value;
  std::string_view fallback;
  if (!name.starts_with('$')) return std::nullopt;
  name.remove_prefix(1);
  if (name.starts_with('{')) {
    if (!name.ends_with('}')) return std::nullopt;
    name = name.substr(1, name.size() - 2);
    const std::size_t dash = name.find('-');
    if (dash != std::string_view::npos) fallback = name.substr(dash + 1);
    name = name.substr(0, std::min(dash, name.size()));
    if (name.ends_with(':')) name.remove_suffix(1);
  }
  for (const SettingPlace& place : beside) {
    if (place.name == name && place.value.find('$') == std::string::npos) return place.value;
  }
  if (fallback.empty() || fallback.find('$') != std::string_view::npos) return std::nullopt;
  return std::string(fallback);
}

}  // namespace headroom::plan
