// SPDX-License-Identifier: Apache-2.0
#include "facts/podman_images.h"

#include <algorithm>
#include <map>

#include "base/document.h"
#include "facts/moment.h"

namespace headroom::facts {
namespace {

constexpr std::size_t most_images = 1000;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return texts;
  for (const Json& one : *found) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

Result<Json> parse_list(std::string_view text, const char* what) {
  HEADROOM_TRY(Json list, parse_json(text));
  if (!list.is_array()) {
    return Error{Errc::invalid, std::string(what) + " should be a list of objects", ""};
  }
  return list;
}

// Returns when each layer was made. The store writes UTC, of which only the day is certain.
std::map<std::string, std::string> times_of(const Json& layers) {
  std::map<std::string, std::string> times;
  for (const Json& layer : layers) {
    if (!layer.is_object()) continue;
    std::string time = parse_log_moment(text_of(layer, "created"), "");
    if (time.size() == 10) time += "T00:00:00";
    times[text_of(layer, "id")] = std::move(time);
  }
  return times;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const PodmanImage* replaced_by(const PodmanImage& now, const std::string& name,
                               const std::vector<PodmanImage>& images) {
  const PodmanImage* before = nullptr;
  for (const PodmanImage& one : images) {
    const bool had_it = holds(one.former_names, name) && !holds(one.names, name);
    // Of the same day, the list's order tells: the store appends.
    const bool is_older = !one.time.empty() && one.time <= now.time && &one < &now;
    if (had_it && is_older && (before == nullptr || before->time <= one.time)) before = &one;
  }
  return before;
}

}  // namespace

Result<std::vector<PodmanImage>> parse_podman_images(std::string_view images,
                                                     std::string_view layers) {
  HEADROOM_TRY(const Json list, parse_list(images, "images.json"));
  HEADROOM_TRY(const Json layer_list, parse_list(layers, "layers.json"));
  const auto times = times_of(layer_list);
  std::vector<PodmanImage> found;
  for (const Json& one : list) {
    if (!one.is_object() || found.size() >= most_images) continue;
    const auto time = times.find(text_of(one, "layer"));
    found.push_back({text_of(one, "id"), texts_of(one, "names"), texts_of(one, "names-history"),
                     time == times.end() ? "" : time->second});
  }
  return found;
}

std::vector<PackageChange> changes_of(const std::vector<PodmanImage>& images) {
  std::vector<PackageChange> changes;
  for (const PodmanImage& one : images) {
    if (one.time.empty()) continue;
    for (const std::string& name : one.names) {
      const PodmanImage* before = replaced_by(one, name, images);
      changes.push_back({one.time, name, before == nullptr ? "" : before->id, one.id,
                         before == nullptr ? PackageAction::install : PackageAction::upgrade,
                         PackageManager::podman});
    }
  }
  return changes;
}

}  // namespace headroom::facts
