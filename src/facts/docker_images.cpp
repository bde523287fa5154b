// SPDX-License-Identifier: Apache-2.0
#include "facts/docker_images.h"

#include <map>

#include "base/document.h"

namespace headroom::facts {
namespace {

constexpr std::size_t most_images = 1000;

void add_repository(const std::string& name, const Json& references,
                    std::vector<DockerImage>& images) {
  std::map<std::string, DockerImage> by_id;
  for (const auto& [reference, id] : references.items()) {
    if (!id.is_string()) continue;
    DockerImage& image = by_id[id.get<std::string>()];
    const bool is_digest = reference.find('@') != std::string::npos;
    (is_digest ? image.digest : image.tag) = reference;
  }
  for (auto& [id, image] : by_id) {
    if (images.size() >= most_images) return;
    image.repository = name;
    image.id = id;
    images.push_back(std::move(image));
  }
}

const DockerImage* replaced_by(const DockerImage& now, const std::vector<DockerImage>& images) {
  const DockerImage* before = nullptr;
  for (const DockerImage& one : images) {
    const bool is_older = one.repository == now.repository && one.tag.empty() &&
                          !one.digest.empty() && !one.time.empty() && one.time < now.time;
    if (is_older && (before == nullptr || before->time < one.time)) before = &one;
  }
  return before;
}

}  // namespace

std::vector<DockerImage> parse_docker_repositories(std::string_view text) {
  std::vector<DockerImage> images;
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return images;
  const auto repositories = document->find("Repositories");
  if (repositories == document->end() || !repositories->is_object()) return images;
  for (const auto& [name, references] : repositories->items()) {
    if (references.is_object()) add_repository(name, references, images);
  }
  return images;
}

std::vector<PackageChange> changes_of(const std::vector<DockerImage>& images) {
  std::vector<PackageChange> changes;
  for (const DockerImage& one : images) {
    if (one.tag.empty() || one.time.empty()) continue;
    const DockerImage* before = replaced_by(one, images);
    changes.push_back({one.time, one.tag, before == nullptr ? "" : before->digest,
                       one.digest.empty() ? one.id : one.digest,
                       before == nullptr ? PackageAction::install : PackageAction::upgrade,
                       PackageManager::docker});
  }
  return changes;
}

}  // namespace headroom::facts
