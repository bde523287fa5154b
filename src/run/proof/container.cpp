// SPDX-License-Identifier: Apache-2.0
#include "run/proof/container.h"

#include <algorithm>
#include <array>

namespace headroom::run {
namespace {

constexpr const char* inside = "/headroom/headroom_steps";
constexpr std::array masks = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                              "CUDA_VISIBLE_DEVICES"};

bool is_set(const std::vector<std::string>& environment, const std::string& name) {
  return std::any_of(environment.begin(), environment.end(),
                     [&name](const std::string& one) { return one.starts_with(name + "="); });
}

}  // namespace

void run_in_container(const Container& container, StepHost& host) {
  std::vector<std::string>& words = host.command;
  words = {container.engine, "run",  "--rm",         "--interactive", "--pull", "never",
           "--network",      "none", "--log-driver", "none",          "--name", container.name};
  for (const std::string& device : container.devices)
    words.insert(words.end(), {"--device", device});
  const bool is_podman = container.engine.ends_with("podman");
  // Without root the groups that may use the GPU are those of who started it.
  if (is_podman && !container.devices.empty())
    words.insert(words.end(), {"--group-add", "keep-groups"});
  // SELinux would hide the folder from it.
  if (is_podman) words.insert(words.end(), {"--security-opt", "label=disable"});
  for (const char* mask : masks) {
    if (is_set(host.environment, mask)) words.insert(words.end(), {"--env", mask});
  }
  words.insert(words.end(), {"--volume", container.program + ":" + inside + ":ro", "--entrypoint",
                             "python3", container.image, "-B", inside, "guard"});
  host.clean_up = {container.engine, "rm", "--force", container.name};
  host.holds_input = true;
}

}  // namespace headroom::run
