// SPDX-License-Identifier: Apache-2.0
#include "probe/read_initramfs.h"

#include <algorithm>

#include "facts/boot_tools.h"
#include "facts/options_in_force.h"
#include "machine/initramfs_image.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

using facts::InitramfsCopy;
using facts::Text;
using machine::Files;

// Images in a folder named after the machine's id are not searched, because a capture has another
// id.
std::string find_image(const Files& files, const Text& kernel) {
  if (!kernel) return "";
  const Text package =
      facts::parse_word(read_text(files, "/usr/lib/modules/" + *kernel + "/pkgbase"));
  auto candidates = facts::initramfs_candidates(*kernel, "", package ? *package : "");
  if (package) {
    const Text preset = read_text(files, "/etc/mkinitcpio.d/" + *package + ".preset");
    if (preset) candidates = {facts::preset_image(*preset)};
  }
  for (const std::string& path : candidates) {
    if (!path.empty() && files.exists(path)) return path;
  }
  return "";
}

// Is not_present if the image does not hold the file. A recording keeps this answer, not the image.
Text read_copy(const Files& files, const std::string& image, const std::string& name) {
  return read_answer(image, [&] {
    return files.derive("initramfs" + image + name, [&]() -> Result<std::string> {
      HEADROOM_TRY(auto bytes, machine::read_from_initramfs(files, image, name));
      if (!bytes) return Error{Errc::not_found, image + " does not hold " + name, ""};
      return *std::move(bytes);
    });
  });
}

}  // namespace

std::vector<InitramfsCopy> read_initramfs_copies(const Files& files, const facts::Facts& facts) {
  std::vector<InitramfsCopy> copies;
  std::string image;
  for (const facts::ModuleOption* option : facts::options_not_in_force(facts)) {
    const std::string& name = option->source.path;
    const bool known = std::any_of(copies.begin(), copies.end(),
                                   [&](const InitramfsCopy& copy) { return copy.file == name; });
    if (known) continue;
    if (image.empty()) image = find_image(files, facts.machine.kernel);
    if (image.empty()) break;
    copies.push_back({image, name, read_copy(files, image, name)});
  }
  return copies;
}

}  // namespace headroom::probe
