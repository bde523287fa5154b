// SPDX-License-Identifier: Apache-2.0
// The images that Docker's own store holds (moby/moby: daemon/images, image/store.go; not those of
// containerd's store, which keeps a database), as changes: a tag that was pulled again leaves the
// image that it named before, by its digest, until somebody prunes it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/package_history.h"

namespace headroom::facts {

struct DockerImage {
  std::string repository;  // "rocm/pytorch".
  std::string tag;         // "rocm/pytorch:latest"; empty: it has none any more.
  std::string digest;      // "rocm/pytorch@sha256:…"; empty: it was built here.
  std::string id;          // "sha256:…".
  std::string time;        // When it got its tag, as in PackageChange; empty: not known.
};

// The images of repositories.json, without their times; none of a text that is no such file.
std::vector<DockerImage> parse_docker_repositories(std::string_view text);

// Each tagged image against the newest older one of its repository that has no tag any more.
// Leaves out images without a time.
std::vector<PackageChange> changes_of(const std::vector<DockerImage>& images);

}  // namespace headroom::facts
