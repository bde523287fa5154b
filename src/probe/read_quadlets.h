// SPDX-License-Identifier: Apache-2.0
// Where services of users and of the system are described: the folders of podman-systemd.unit(5)
// and systemd.unit(5), and the quadlets in them.
#pragma once

#include <string>
#include <vector>

#include "facts/boot_setup.h"
#include "machine/files.h"

namespace headroom::probe {

// /root and every folder of /home and /var/home, as far as they can be listed; a link to another of
// them is left out.
std::vector<std::string> home_folders(const machine::Files& files);
// Folders of quadlets: the system's, every user's, and those that the administrator made for users.
std::vector<std::string> quadlet_folders(const machine::Files& files);

// Every quadlet (*.container) in them that can be read; those over 256 KiB are left out.
std::vector<facts::ConfigFile> read_quadlets(const machine::Files& files);

}  // namespace headroom::probe
