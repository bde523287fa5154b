// SPDX-License-Identifier: Apache-2.0
// For tests of what people tell: logs of a few lines, each with the cause that it is to have.
#pragma once

#include <span>
#include <string>

#include "findings/causes/testing.h"

namespace headroom::findings::testing {

inline constexpr std::string_view amd =
    R"({"vendor": "AMD", "gpu": "RX 7900 XTX", "gfx": "gfx1100"})";
inline const std::string fault =
    "Memory access fault by GPU node-1 (Agent handle: 0x5c1) on address 0x7f0e045b3000. Reason: "
    "Page not present or supervisor privilege.\n";
inline const std::string died = "Segmentation fault (core dumped)\n";
inline const std::string hang =
    "[ 812.1] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3\n";

struct Form {
  std::string log;
  std::string_view cause;
};

inline void expect(std::span<const Form> forms) {
  for (const Form& form : forms)
    EXPECT_EQ(diagnose(form.log, amd).cause.id, form.cause) << form.log;
}

}  // namespace headroom::findings::testing
