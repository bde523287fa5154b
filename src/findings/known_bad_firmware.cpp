// SPDX-License-Identifier: Apache-2.0
// firmware-bad: the GPU runs a firmware version that is known to break compute. The driver
// publishes the versions, so this is read, not guessed from a package's date.
#include "findings/advisories.h"

namespace headroom::findings {
namespace {

std::vector<Finding> find(const Subject& subject) {
  return find_advisories(subject, "firmware", "known-bad-firmware");
}

}  // namespace

constinit const Rule known_bad_firmware_rule = {
    .id = "firmware-bad",
    .meaning = "The GPU runs a firmware version that is known to break compute.",
    .why =
        "Firmware comes with the distribution's linux-firmware and may change with any update. A "
        "bad version causes memory access faults and hangs that look like broken hardware or a "
        "broken framework.",
    .fix =
        "Update linux-firmware, or go back to the previous package. Rebuild the initramfs, which "
        "holds a copy, and reboot.",
    .find = find,
};

}  // namespace headroom::findings
