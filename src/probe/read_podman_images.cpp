// SPDX-License-Identifier: Apache-2.0
// Podman keeps a store for the superuser and one in the home folder of each user who runs it
// without rights (containers-storage.conf(5): graphroot). Stores that were moved are not found.
#include "facts/podman_images.h"
#include "probe/history_reading.h"
#include "probe/read_quadlets.h"

namespace headroom::probe {
namespace {

using facts::PackageManager;

// A layer takes about half a KiB of it, and an image has some dozens.
constexpr std::size_t list_bytes_max = std::size_t{16} << 20U;

void read_store(HistoryReading& reading, const std::string& store) {
  const std::string path = store + "/overlay-images/images.json";
  // In a home folder that nobody else may enter, a store is not known to be.
  if (!reading.files.exists(path)) return;
  const auto images = reading.files.read_tail(path, list_bytes_max);
  if (!images) return reading.note(PackageManager::podman, path, images.error());
  const std::string layer_path = store + "/overlay-layers/layers.json";
  const auto layers = reading.files.read_tail(layer_path, list_bytes_max);
  if (!layers) {
    return reading.note(PackageManager::podman, layer_path,
                        "without it, when an image was pulled is not known: podman images");
  }
  const auto parsed = facts::parse_podman_images(*images, *layers);
  if (!parsed) {
    return reading.note(PackageManager::podman, path,
                        "it is no list of images as Podman writes it: podman images");
  }
  reading.note(PackageManager::podman, path);
  for (facts::PackageChange& one : facts::changes_of(*parsed)) reading.add(std::move(one));
}

}  // namespace

void read_podman_images(HistoryReading& reading) {
  read_store(reading, "/var/lib/containers/storage");
  for (const std::string& home : home_folders(reading.files)) {
    read_store(reading, home + "/.local/share/containers/storage");
  }
}

}  // namespace headroom::probe
