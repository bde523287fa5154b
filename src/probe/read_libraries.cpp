// SPDX-License-Identifier: Apache-2.0
#include "probe/read_libraries.h"

#include <array>

namespace headroom::probe {
namespace {

using facts::Fact;
using facts::LibraryFolder;
using facts::Missing;
using facts::Source;
using facts::Why;

struct Place {
  const char* folder;
  const char* own;  // The administrator's folder beside it, which the loader searches too.
};
// The folders of Debian and Ubuntu, of Fedora and openSUSE, and of Arch.
constexpr std::array places = {
    Place{"/usr/lib/x86_64-linux-gnu", "/usr/local/lib/x86_64-linux-gnu"},
    Place{"/usr/lib/aarch64-linux-gnu", "/usr/local/lib/aarch64-linux-gnu"},
    Place{"/usr/lib64", "/usr/local/lib64"}, Place{"/usr/lib", "/usr/local/lib"}};

Fact<LibraryFolder> find_libdrm(const machine::Files& files) {
  for (const Place& place : places) {
    const std::string versioned = std::string(place.folder) + "/libdrm_amdgpu.so.1";
    if (!files.exists(versioned)) continue;
    const bool plain = files.exists(std::string(place.folder) + "/libdrm_amdgpu.so") ||
                       files.exists(std::string(place.own) + "/libdrm_amdgpu.so");
    return {LibraryFolder{place.folder, place.own, plain}, Source{versioned, 0, ""}};
  }
  return {Missing{Why::not_present, "libdrm_amdgpu.so.1 is in none of the system's folders"},
          Source{"/usr/lib", 0, ""}};
}

}  // namespace

facts::SystemLibraries read_libraries(const machine::Files& files) {
  facts::SystemLibraries libraries;
  libraries.libdrm_amdgpu = find_libdrm(files);
  const char* ids = "/usr/share/libdrm/amdgpu.ids";
  libraries.ids = files.exists(ids)
                      ? Fact<std::string>(ids, Source{ids, 0, ""})
                      : Fact<std::string>(Missing{Why::not_present, ""}, Source{ids, 0, ""});
  libraries.ids_in_opt = files.exists("/opt/amdgpu/share/libdrm/amdgpu.ids");
  return libraries;
}

}  // namespace headroom::probe
