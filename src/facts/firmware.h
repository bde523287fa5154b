// SPDX-License-Identifier: Apache-2.0
// Versions of the firmware that a GPU runs, as amdgpu publishes them under fw_version/
// (amdgpu_ucode.c) and KFD its compute firmware in a node's properties.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "facts/text_facts.h"

namespace headroom::facts {

// Of fw_version/NAME_fw_version, those that decide something or that a bug report needs: compute
// microengine, scheduler and its queue, power gating, copy engine, power, secure boot, video.
inline constexpr std::array<std::string_view, 8> firmware_names = {"mec",  "mes", "mes_kiq", "rlc",
                                                                   "sdma", "smc", "sos",     "vcn"};

struct Firmware {
  std::map<std::string, Fact<std::uint64_t>, std::less<>> versions;  // Of firmware_names.
  Text vbios;                                                        // "113-STRXLGEN-001".

  // Missing where the driver does not publish it.
  Fact<std::uint64_t> version(std::string_view name) const;
};

// "0x00000083", as people and the kernel write firmware versions.
std::string firmware_text(std::uint64_t version);

}  // namespace headroom::facts
