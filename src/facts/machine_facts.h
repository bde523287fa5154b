// SPDX-License-Identifier: Apache-2.0
// What is true of the machine around its GPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "facts/driver_answers.h"
#include "facts/kernel_text.h"
#include "facts/kfd_limits.h"
#include "facts/text_facts.h"

namespace headroom::facts {

struct CgroupLimits {
  Fact<Bytes> memory_max;   // The smallest limit from this process's group up to the root.
  Fact<Bytes> memory_high;  // The same of memory.high, from where on the kernel throttles (v2).
  Fact<Bytes> memory_used;
  // dmem.max of this process's group and of those above it that have one: one line per device and
  // region. Never empty; the first may be missing.
  std::vector<Text> dmem_max;
  Text dmem_current;
};

// What an initramfs image holds of one file of the machine.
struct InitramfsCopy {
  std::string image;  // "/boot/initrd.img-6.14.0-37-generic".
  std::string file;   // "/etc/modprobe.d/ttm.conf".
  Text text;          // Missing with not_present: the image does not hold it.
};

struct MachineFacts {
  bool live = false;               // Root "/": true of this system now.
  bool processes_visible = false;  // At least one /proc/PID.
  bool dev_visible = false;        // /dev holds anything; captures often leave it out.
  Text kernel;                     // "6.14.0-37-generic".
  Text kernel_signature;           // /proc/version_signature, which only Ubuntu has.
  Text distribution;               // PRETTY_NAME.
  Text distribution_id;            // ID and ID_LIKE, in one text: "ubuntu debian".
  Text rocm;                       // "6.3.2-66", of the ROCm under /opt/rocm.
  Meminfo memory;
  Text container;  // "docker", "podman", …; not_present outside a container.

  std::string ttm_module = "ttm";  // "amdttm" with AMD's DKMS driver.
  Fact<Bytes> pages_limit;  // TTM's limit now; may have been written after the driver loaded.
  Fact<Bytes> gttsize;      // amdgpu.gttsize in force; not_limited for -1 (automatic).
  std::vector<ModuleOption> options;  // modprobe.d first, then the command line; later entries win.
  // What /sys/module says is in force, by "module.key": "amdgpu.vm_size" → "-1". Parameters of mode
  // 0600 are missing for want of permission, which is not zero.
  std::map<std::string, Text> parameters;
  // Of the running kernel's image, for files whose options are not in force; of no other file.
  std::vector<InitramfsCopy> initramfs_copies;
  Text driver_version;   // Of amdgpu itself; only AMD's DKMS driver has one.
  KfdLimits kfd_limits;  // From debugfs, which only root reads.

  Fact<bool> dev_kfd;     // /dev/kfd exists.
  Fact<bool> kfd_usable;  // This user may open /dev/kfd; only known live.
  Ownership kfd_owner;
  CgroupLimits cgroup;

  // What is in force of "module.key", or nullptr where it was not asked for.
  const Text* parameter(const std::string& name) const;
  // The option that counts for module.key: the last one that sets it; nullptr if none does.
  const ModuleOption* option(std::string_view module, std::string_view key) const;
  // nullptr where the file was not looked for in an image.
  const InitramfsCopy* initramfs_copy(std::string_view file) const;
  bool in_container() const { return container.known(); }
};

}  // namespace headroom::facts
