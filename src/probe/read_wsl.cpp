// SPDX-License-Identifier: Apache-2.0
#include "probe/read_wsl.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "facts/boot_tools.h"
#include "machine/byte_source.h"
#include "probe/read_text.h"
#include "probe/rocm_folders.h"

namespace headroom::probe {
namespace {

using facts::DxgRoute;
using facts::Fact;
using facts::HsaRuntime;
using facts::Missing;
using facts::Source;
using facts::Text;
using facts::Why;
using facts::Wsl;
using facts::WslKind;
using machine::Files;
using Names = std::vector<std::string>;

constexpr const char* microsofts_folder = "/usr/lib/wsl/lib";
constexpr const char* driver_store = "/usr/lib/wsl/drivers";
constexpr std::size_t library_bytes_max = std::size_t{64} << 20U;
constexpr std::size_t inf_bytes_max = std::size_t{8} << 20U;

// WSL's own marks are asked for too, because people build kernels for WSL 2 under any name.
void find_kind(const Files& files, const Text& kernel, Wsl& wsl) {
  wsl.kind = kernel ? facts::wsl_kind_of(*kernel) : WslKind::none;
  wsl.source = kernel.source();
  if (wsl.is_wsl()) return;
  for (const char* mark :
       {"/run/WSL", "/proc/sys/fs/binfmt_misc/WSLInterop", "/usr/lib/wsl", "/dev/dxg"}) {
    if (!files.exists(mark)) continue;
    wsl.kind = WslKind::wsl2;
    wsl.source = {mark, 0, ""};
    return;
  }
}

void read_device(const Files& files, Wsl& wsl) {
  const Source source{"/dev/dxg", 0, ""};
  wsl.dxg = {files.exists("/dev/dxg"), source};
  const auto usable = files.may_use("/dev/dxg");
  wsl.dxg_usable =
      usable ? Fact<bool>(*usable, source) : Fact<bool>(Missing{Why::not_applicable, ""}, source);
}

Text find_file(const Files& files, const Names& folders, const std::string& name) {
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (files.exists(path)) return {path, Source{folder, 0, ""}};
  }
  return {Missing{Why::not_present, name + " is in none of " + join(folders, ", ")},
          Source{folders.front(), 0, ""}};
}

// Reads a file of Windows's or of ROCm's that is too large for a record, which keeps what was made
// of it instead.
Result<std::string> read_unrecorded(const Files& files, const std::string& path,
                                    std::size_t limit) {
  HEADROOM_TRY(const machine::Descriptor file, files.open_file(path));
  HEADROOM_TRY(const machine::FileBytes bytes, machine::FileBytes::of(file.get()));
  if (bytes.size() > limit) return Error{Errc::invalid, path + " is too large to look into", ""};
  std::string text(bytes.size(), '\0');
  HEADROOM_TRY(const std::size_t length, bytes.read_at(0, text));
  text.resize(length);
  return text;
}

// A record keeps this answer, not the library.
Fact<DxgRoute> read_route(const Files& files, const std::string& path) {
  const Text answer = read_answer(path, [&] {
    return files.derive("dxg-route" + path, [&]() -> Result<std::string> {
      HEADROOM_TRY(const std::string library, read_unrecorded(files, path, library_bytes_max));
      if (library.empty()) return Error{Errc::invalid, path + " is empty", ""};
      return std::string(to_string(facts::find_dxg_route(library)));
    });
  });
  if (!answer) return answer.absent<DxgRoute>();
  for (const DxgRoute route : {DxgRoute::rocdxg, DxgRoute::built_in}) {
    if (*answer == to_string(route)) return {route, answer.source()};
  }
  return {DxgRoute::none, answer.source()};
}

HsaRuntime read_runtime(const Files& files, const Names& folders) {
  for (const std::string& folder : folders) {
    for (const char* name : {"/libhsa-runtime64.so.1", "/libhsa-runtime64.so"}) {
      if (!files.exists(folder + name)) continue;
      return {folder + name, read_route(files, folder + name)};
    }
  }
  return {
      "",
      {Missing{Why::not_present, "no libhsa-runtime64.so there"}, Source{folders.front(), 0, ""}}};
}

// PyTorch's own wheels have it under torch/lib, TheRock's in a package of its own.
Names folders_of_wheels(const facts::PythonStack& python) {
  if (python.torch_folder.empty()) return {};
  const std::string site = python.torch_folder.substr(0, python.torch_folder.rfind('/'));
  return {python.torch_folder + "/lib", site + "/_rocm_sdk_core/lib",
          site + "/_rocm_sdk_devel/lib"};
}

// Windows's driver store is shown whole, with older drivers too; the newest counts.
void read_windows_driver(const Files& files, Wsl& wsl) {
  const auto names = files.list(driver_store);
  const Source source{driver_store, 0, ""};
  wsl.windows_driver = {names ? Missing{Why::not_present, "no display driver of AMD in it"}
                              : to_missing(names.error()),
                        source};
  for (const std::string& name : names ? *names : Names{}) {
    if (!facts::is_amd_display_driver(name)) continue;
    const std::string path =
        std::string(driver_store) + "/" + name + "/" + name.substr(0, name.find('.')) + ".inf";
    const Text line = read_answer(path, [&] {
      return files.derive("driver-version" + path, [&]() -> Result<std::string> {
        HEADROOM_TRY(const std::string inf, read_unrecorded(files, path, inf_bytes_max));
        const Text version = facts::parse_driver_version({inf, Source{path, 0, ""}});
        if (version) return "DriverVer=," + *version;
        return Error{Errc::not_found, to_string(version.missing()), ""};
      });
    });
    Text version = facts::parse_driver_version(line);
    const bool newer =
        !wsl.windows_driver || (version && facts::is_older(*wsl.windows_driver, *version));
    // That there is a driver is known even if its version is not.
    if (!version) version = {std::string("unknown"), Source{driver_store, 0, name}};
    if (newer) wsl.windows_driver = std::move(version);
  }
}

}  // namespace

Wsl read_wsl(const Files& files, const facts::MachineFacts& machine,
             const facts::PythonStack& python) {
  Wsl wsl;
  find_kind(files, machine.kernel, wsl);
  if (wsl.kind != WslKind::wsl2) return wsl;
  read_device(files, wsl);
  const Names rocm = rocm_library_folders(files);
  const Names wheels = folders_of_wheels(python);
  Names folders = wheels;
  folders.insert(folders.end(), rocm.begin(), rocm.end());
  folders.insert(folders.end(),
                 {microsofts_folder, "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib"});
  wsl.rocdxg = find_file(files, folders, "librocdxg.so");
  wsl.dxcore = find_file(files, {microsofts_folder, "/usr/lib", "/usr/lib/x86_64-linux-gnu"},
                         "libdxcore.so");
  Names system = rocm;
  system.emplace_back("/usr/lib/x86_64-linux-gnu");
  wsl.system = read_runtime(files, system);
  wsl.bundled.route = {
      Missing{Why::not_present, "no torch is installed"},
      Source{python.prefix.source().path.empty() ? "/usr/lib" : python.prefix.source().path, 0,
             ""}};
  if (!wheels.empty()) wsl.bundled = read_runtime(files, wheels);
  read_windows_driver(files, wsl);
  wsl.adrenalin = {
      Missing{Why::not_asked,
              "only Windows's registry has it: reg.exe query 'HKLM\\SOFTWARE\\AMD\\CN' /v "
              "RadeonSoftwareVersion"},
      Source{driver_store, 0, ""}};
  return wsl;
}

}  // namespace headroom::probe
