// SPDX-License-Identifier: Apache-2.0
// shm-too-small: /dev/shm is a container's own, and whoever starts the container sets its size, so
// this says what to write on the host, for the engine at hand.
#include <fmt/format.h>

#include "plan/diagnosed.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"

namespace headroom::plan {
namespace {

constexpr std::string_view id = "shm-too-small";

std::vector<std::string> ways(const std::string& engine) {
  if (engine == "kubernetes") {
    return {"In the pod: mount an emptyDir with medium: Memory and sizeLimit: 16Gi at /dev/shm."};
  }
  if (engine == "lxc") {
    return {
        "In the container's configuration on the host: lxc.mount.entry = tmpfs dev/shm tmpfs "
        "size=16G,create=dir 0 0"};
  }
  if (engine == "podman") {
    return {"On the host: podman run --shm-size 16g …",
            "In a quadlet: ShmSize=16g in its [Container], then systemctl --user daemon-reload and "
            "restart it."};
  }
  return {"On the host: docker run --shm-size 16g …",
          "In compose: shm_size: 16g in the service, then docker compose up -d"};
}

Result<Change> make(const FixSubject& subject) {
  if (!is_diagnosed(subject.diagnosis, id)) return not_needed(id, "/dev/shm is large enough here");
  Change change;
  change.fix = id;
  change.title = "Give the container a larger /dev/shm";
  change.words = subject.options.words;
  for (std::string& way : ways(*subject.facts.machine.container)) {
    change.steps.push_back(by_hand(std::move(way)));
  }
  change.notes.emplace_back(
      "It uses memory only for what is stored in it. A job with one process can do without it: "
      "DataLoader(num_workers=0).");
  return change;
}

bool applies(const FixSubject&) {
  return false;  // Only the host can.
}

}  // namespace

constinit const Fix shm_too_small_fix = {
    .id = id,
    .meaning = "Shows how to start this container with a larger /dev/shm.",
    .takes = "",
    .applies = applies,
    .plan = make,
};

}  // namespace headroom::plan
