// SPDX-License-Identifier: Apache-2.0
#include "facts/docker_images.h"
#include "facts/moment.h"
#include "probe/history_reading.h"

namespace headroom::probe {
namespace {

constexpr const char* store = "/var/lib/docker/image/overlay2";
constexpr std::size_t list_bytes_max = std::size_t{4} << 20U;
constexpr std::size_t time_bytes_max = 64;

// "2026-05-08T10:00:00.123456789+02:00"; of UTC only the day is certain.
std::string tagged_at(const machine::Files& files, const std::string& id) {
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos || id.find('/') != std::string::npos) return "";
  const auto text =
      files.read_tail(std::string(store) + "/imagedb/metadata/" + id.substr(0, colon) + "/" +
                          id.substr(colon + 1) + "/lastUpdated",
                      time_bytes_max);
  std::string time = text ? facts::parse_log_moment(*text, "") : "";
  if (time.size() == 10) time += "T00:00:00";
  return time;
}

}  // namespace

void read_docker_images(HistoryReading& reading) {
  const std::string path = std::string(store) + "/repositories.json";
  const auto text = reading.files.read_tail(path, list_bytes_max);
  if (!text) return reading.note(facts::PackageManager::docker, path, text.error());
  reading.note(facts::PackageManager::docker, path);
  auto images = facts::parse_docker_repositories(*text);
  for (facts::DockerImage& one : images) one.time = tagged_at(reading.files, one.id);
  for (facts::PackageChange& one : facts::changes_of(images)) reading.add(std::move(one));
}

}  // namespace headroom::probe
