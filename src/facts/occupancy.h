// SPDX-License-Identifier: Apache-2.0
// Who has the GPUs open, whether or not they hold memory, and what else leans on a GPU: screens,
// the console. What has to be known before anything is taken away from anybody; check does not read
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/cgroup.h"
#include "facts/process_stat.h"
#include "facts/text_facts.h"

namespace headroom::facts {

// A process that has /dev/kfd or a node of /dev/dri open.
struct Occupant {
  std::uint64_t pid = 0;
  std::string command;
  std::string user;                  // Its name, or its number; may be empty.
  std::optional<std::uint64_t> uid;  // The real one.
  std::optional<ProcessStat> stat;   // Nothing where it cannot be read: then it cannot be acted on.
  Membership membership;
  // Its unit belongs to the service manager of this user, not of the system.
  std::optional<std::uint64_t> unit_of_user;
  std::vector<std::string> gpus;  // PCI addresses of those that it is a DRM client of; sorted.
  bool opens_kfd = false;         // The compute driver's node, which all GPUs share.
  // It calls itself the worker of a launcher (Python's multiprocessing, PyTorch's loaders), and
  // that launcher is gone: nobody will ever collect it.
  bool left_behind = false;
};

// What shows a picture with one GPU.
struct Screens {
  std::string pci;
  std::vector<std::string> connected;  // "HDMI-A-1": connectors with a screen that is on.
  Fact<bool> boot_vga;                 // The firmware chose it for the boot's messages.
  bool console = false;                // A text console is drawn by it (fbcon).
  std::optional<std::uint64_t> card;   // N of /dev/dri/cardN, and of debugfs' dri/N.
  // Whether debugfs offers amdgpu_gpu_recover; missing: debugfs is not there or needs root.
  Fact<bool> can_recover;
};

struct Occupancy {
  std::vector<Occupant> occupants;  // By PID.
  bool complete = false;            // Every process could be looked into, and none is hidden.
  std::vector<Screens> screens;     // Per AMD GPU.
  // This program, those that started it up to the first process, and its session's leader.
  std::vector<std::uint64_t> own_line;
  std::string own_unit;  // The systemd unit that this program runs in; may be empty.

  const Occupant* find(std::uint64_t pid) const;
  const Screens* screens_of(const std::string& pci) const;
};

}  // namespace headroom::facts
