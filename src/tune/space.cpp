// SPDX-License-Identifier: Apache-2.0
#include "tune/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "knowledge/trainer_flags.h"
#include "tune/toml_text.h"

namespace headroom::tune {
namespace {

using As = TuneSetting::As;
using Role = TuneSetting::Role;

constexpr std::size_t most_points = 4096;
// More threads than this for each core only wait for each other.
constexpr double most_per_core = 2;

std::vector<std::string> option_names(const Axis& axis) {
  std::vector<std::string> names = {axis.setting.name};
  names.insert(names.end(), axis.aliases.begin(), axis.aliases.end());
  return names;
}

std::optional<std::string> present_value(const Axis& axis, const Present& present) {
  if (axis.setting.as == As::option) {
    const auto place = knowledge::find_flag(present.command, 1, option_names(axis));
    if (!place) return std::nullopt;
    return present.command[place->word].substr(place->begin);
  }
  const auto file = present.values.find(axis.setting.file);
  if (file == present.values.end()) return std::nullopt;
  const auto value = file->second.find(axis.setting.name);
  return value == file->second.end() ? std::nullopt : std::optional(value->second);
}

// Numbers by their size; a text that is none goes to the end.
void add_value(std::vector<std::string>& values, const std::string& value) {
  if (std::find(values.begin(), values.end(), value) != values.end()) return;
  const auto number = parse_double(value);
  auto place = values.end();
  if (number) {
    place = std::find_if(values.begin(), values.end(), [&](const std::string& other) {
      const auto it = parse_double(other);
      return it && *it > *number;
    });
  }
  values.insert(place, value);
}

// Finds the present value, which is a value to compare with even if nobody named it.
void place_present(Axis& axis, const Present& present, const std::string& default_value) {
  const auto said = present_value(axis, present);
  axis.is_set = said.has_value();
  const std::string value = said ? *said : default_value;
  if (value.empty()) return;
  auto& values = axis.setting.values;
  add_value(values, value);
  axis.now =
      static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

Role role_of(knowledge::ServiceKnob::Role role) {
  return static_cast<Role>(static_cast<std::uint8_t>(role));
}

std::vector<std::string> powers_of_two(std::uint64_t most) {
  std::vector<std::string> values;
  for (std::uint64_t value = 1; value < most; value *= 2) values.push_back(std::to_string(value));
  values.push_back(std::to_string(most));
  return values;
}

std::vector<std::string> values_of(const knowledge::ServiceKnob& knob, const Resources& resources) {
  if (!knob.values.empty()) return knob.values;
  // More at once than there are requests cannot help.
  return powers_of_two(knob.role == knowledge::ServiceKnob::Role::batch ? 2 * resources.at_once
                                                                        : resources.cores);
}

std::string default_of(const knowledge::ServiceKnob& knob, const Resources& resources) {
  return knob.default_value == "cores" ? std::to_string(resources.cores) : knob.default_value;
}

Error no_file(const std::string& name) {
  return {Errc::invalid,
          fmt::format("tune: expected the file in which {} is set, found none", name),
          "add file = \"…\" to its [[tune]]"};
}

Result<std::vector<Axis>> axes_of_file(const deploy::ServiceSpec& spec, const Present& present,
                                       const Resources& resources,
                                       const knowledge::ServiceKnobs& knobs) {
  std::vector<Axis> axes;
  for (const TuneSetting& setting : spec.tune) {
    Axis axis;
    axis.setting = setting;
    if (setting.file.empty()) axis.setting.file = present.file;
    if (axis.setting.file.empty()) return no_file(setting.name);
    std::string default_value;
    for (const knowledge::ServiceKnob& knob : knobs.knobs) {
      if (knob.name != setting.name || !knowledge::runs(knob, present.image, present.command))
        continue;
      default_value = default_of(knob, resources);
      axis.aliases = knob.aliases;
      if (setting.role == Role::none) axis.setting.role = role_of(knob.role);
    }
    place_present(axis, present, default_value);
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<Axis> axes_of_table(const Present& present, const Resources& resources,
                                const knowledge::ServiceKnobs& knobs) {
  std::vector<Axis> axes;
  for (const knowledge::ServiceKnob& knob : knobs.knobs) {
    if (present.file.empty() || !knowledge::runs(knob, present.image, present.command)) continue;
    Axis axis;
    axis.setting.name = knob.name;
    axis.setting.as = knob.is_option() ? As::option : As::environment;
    axis.setting.file = present.file;
    axis.setting.values = values_of(knob, resources);
    axis.setting.role = role_of(knob.role);
    axis.aliases = knob.aliases;
    axis.source = knob.origin.source;
    place_present(axis, present, default_of(knob, resources));
    axes.push_back(std::move(axis));
  }
  return axes;
}

// What the table proposes beyond what the cores can do is left out; what somebody wrote down is
// tried.
bool is_sensible(const Space& space, const Point& point, const Resources& resources) {
  const double workers = space.of_role(point, Role::workers).value_or(1);
  const double threads = space.of_role(point, Role::threads).value_or(1);
  return workers * threads <= most_per_core * static_cast<double>(resources.cores);
}

Result<std::vector<Point>> points_of(const Space& space, bool by_table,
                                     const Resources& resources) {
  double all = 1;
  for (const Axis& axis : space.axes) all *= static_cast<double>(axis.setting.values.size());
  if (all > most_points) {
    return Error{Errc::invalid,
                 fmt::format("tune: expected at most {} combinations of settings, found {:.0f}",
                             most_points, all),
                 "name the settings that matter most, with fewer values, in [[tune]]"};
  }
  std::vector<Point> points;
  Point point(space.axes.size(), 0);
  for (;;) {
    if (!by_table || is_sensible(space, point, resources)) points.push_back(point);
    std::size_t axis = point.size();
    while (axis > 0 && ++point[axis - 1] == space.axes[axis - 1].setting.values.size()) {
      point[axis - 1] = 0;
      --axis;
    }
    if (axis == 0) return points;
  }
}

void find_present(Space& space) {
  Point now;
  for (const Axis& axis : space.axes) {
    if (!axis.now) return;
    now.push_back(*axis.now);
  }
  const auto found = std::find(space.points.begin(), space.points.end(), now);
  if (found == space.points.end()) space.points.push_back(now);
  space.present = static_cast<std::size_t>(
      std::find(space.points.begin(), space.points.end(), now) - space.points.begin());
}

deploy::TypedSet& set_for(std::vector<deploy::FileChange>& changes, const std::string& file,
                          bool keys) {
  for (deploy::FileChange& change : changes) {
    if (change.file == file && change.set->keys.empty() != keys) return *change.set;
  }
  changes.push_back({file, std::nullopt, deploy::TypedSet{}});
  return *changes.back().set;
}

void set_option(std::vector<std::string>& command, const Axis& axis, const std::string& value) {
  const auto place = knowledge::find_flag(command, 1, option_names(axis));
  if (place) {
    command[place->word].replace(place->begin, std::string::npos, value);
    return;
  }
  for (const std::string& word : knowledge::flag_words(axis.setting.name, value))
    command.push_back(word);
}

}  // namespace

Result<Space> make_space(const deploy::ServiceSpec& spec, const Present& present,
                         const Resources& resources, const knowledge::ServiceKnobs& knobs) {
  Space space;
  space.command = present.command;
  const bool by_table = spec.tune.empty();
  if (by_table) {
    space.axes = axes_of_table(present, resources, knobs);
  } else {
    HEADROOM_TRY(space.axes, axes_of_file(spec, present, resources, knobs));
  }
  HEADROOM_TRY(space.points, points_of(space, by_table, resources));
  find_present(space);
  if (space.axes.empty() || space.points.size() < 2) {
    return Error{
        Errc::not_found,
        fmt::format("expected a setting of {} to vary, found none: headroom knows those of "
                    "some programs by their image or command, and this is none of them",
                    spec.service.name),
        "name them in SERVICE.toml: [[tune]] name = \"WORKERS\", values = [1, 2, 4]"};
  }
  return space;
}

std::vector<deploy::FileChange> changes_of(const Space& space, const Point& point) {
  std::vector<deploy::FileChange> changes;
  for (std::size_t i = 0; i < space.axes.size(); ++i) {
    const Axis& axis = space.axes[i];
    const TuneSetting& setting = axis.setting;
    if (axis.now == point[i]) continue;
    const std::string& value = setting.values[point[i]];
    deploy::TypedSet& set = set_for(changes, setting.file, setting.as == As::key);
    if (setting.as == As::key) {
      set.keys[setting.name] = value;
    } else if (setting.as == As::environment) {
      set.environment[setting.name] = value;
    } else {
      if (!set.command) set.command = space.command;
      set_option(*set.command, axis, value);
    }
  }
  return changes;
}

std::string to_toml(const std::vector<deploy::FileChange>& changes) {
  std::string text;
  for (const deploy::FileChange& change : changes) {
    std::vector<std::string> parts;
    if (!change.set->environment.empty())
      parts.push_back("environment = " + toml_table(change.set->environment));
    if (change.set->command) parts.push_back("command = " + toml_list(*change.set->command));
    if (!change.set->keys.empty()) parts.push_back("keys = " + toml_table(change.set->keys));
    text += fmt::format("[[change]]\nfile = {}\nset = {{ {} }}\n", toml_string(change.file),
                        join(parts, ", "));
  }
  return text;
}

}  // namespace headroom::tune
