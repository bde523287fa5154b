// SPDX-License-Identifier: Apache-2.0
// The images that Podman's store holds (containers/storage: images.go, layers.go), as changes: an
// image whose name went to a newer one keeps it as a former name until somebody prunes it. An
// image's own date is that of its build, so it was pulled when its top layer was made. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "facts/package_history.h"

namespace headroom::facts {

struct PodmanImage {
  std::string id;                  // Without "sha256:", as podman shows and takes it.
  std::vector<std::string> names;  // "docker.io/rocm/pytorch:latest".
  std::vector<std::string> former_names;
  std::string time;  // When it was pulled or built here, as in PackageChange; empty: not known.
};

// The images of images.json; layers.json dates them. Fails if either text is no such list.
Result<std::vector<PodmanImage>> parse_podman_images(std::string_view images,
                                                     std::string_view layers);

// Each name against the newest older image that had it. Leaves out images without a time.
std::vector<PackageChange> changes_of(const std::vector<PodmanImage>& images);

}  // namespace headroom::facts
