// SPDX-License-Identifier: Apache-2.0
// Quadlets (podman-systemd.unit(5)) as texts: whether one passes a GPU to its container, and lines
// added to its [Container].
#pragma once

#include <string>
#include <string_view>

namespace headroom::plan {

bool passes_gpu(std::string_view quadlet);
bool keeps_groups(std::string_view quadlet);
// Whether a key of [Container] is set, or an option of the same meaning in PodmanArgs=.
bool has_container_option(std::string_view quadlet, std::string_view key, std::string_view option);
// Behind the last line of [Container].
std::string add_container_line(std::string_view quadlet, std::string_view line);

}  // namespace headroom::plan
