// SPDX-License-Identifier: Apache-2.0
// Windows's subsystem for Linux. A program there reaches the GPU through Windows's driver: by
// /dev/dxg, Microsoft's libdxcore.so and AMD's librocdxg.so. KFD, amdgpu and their files in /sys
// do not exist there, and that is its normal state (ROCm/librocdxg: README.md).
#pragma once

#include <string>
#include <string_view>

#include "facts/text_facts.h"

namespace headroom::facts {

enum class WslKind {
  none,
  wsl1,  // Translates system calls and has no devices, so no program there reaches a GPU.
  wsl2,  // A virtual machine with a kernel of its own.
};
std::string_view to_string(WslKind kind);

// How a copy of ROCm's runtime, libhsa-runtime64.so, reaches a GPU in WSL.
enum class DxgRoute {
  none,      // It knows /dev/kfd alone.
  rocdxg,    // By librocdxg.so, which it loads if /dev/dxg opens: ROCm 7.1 and later.
  built_in,  // By libdxcore.so itself: AMD's packages for WSL of ROCm 6.
};
std::string_view to_string(DxgRoute route);

// A copy of ROCm's runtime; `path` is empty if there is none.
struct HsaRuntime {
  std::string path;
  Fact<DxgRoute> route;
};

struct Wsl {
  WslKind kind = WslKind::none;
  Source source;          // What shows the kind.
  Fact<bool> dxg;         // /dev/dxg exists.
  Fact<bool> dxg_usable;  // This user may open it; known only of the running system.
  Text dxcore;            // Where Microsoft's libdxcore.so is.
  Text rocdxg;            // Where AMD's librocdxg.so is.
  HsaRuntime system;      // The runtime of the installed ROCm,
  HsaRuntime bundled;     // and the one that the installed torch brings.
  // Of AMD's display driver, the newest one that Windows's driver store has: "32.0.21025.1024".
  Text windows_driver;
  // The release that people know it by, "26.2.2". Always missing: only Windows's registry has it.
  Text adrenalin;

  bool is_wsl() const { return kind != WslKind::none; }
};

// From the kernel's release: "4.4.0-19041-Microsoft" is WSL 1, "6.6.87.2-microsoft-standard-WSL2"
// is WSL 2. Other releases tell nothing, because people build kernels for WSL 2 themselves.
WslKind wsl_kind_of(std::string_view kernel);

// Tells by the names that the library's code holds. They are among its strings even where it is
// stripped (ROCm/rocm-systems: projects/rocr-runtime/runtime/hsa-runtime/core/runtime/
// thunk_loader.cpp).
DxgRoute find_dxg_route(std::string_view library);

// The version in the line "DriverVer = 01/20/2026,32.0.21025.1024" of a driver's INF file, which
// may be in UTF-16 (Microsoft: "INF DriverVer directive").
Text parse_driver_version(const Text& inf);

// Whether the name is that of AMD's display driver in Windows's driver store:
// "u0198633.inf_amd64_f6ca42135bb94c90".
bool is_amd_display_driver(std::string_view folder);

}  // namespace headroom::facts
