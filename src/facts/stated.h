// SPDX-License-Identifier: Apache-2.0
// What a person says about a machine: `--stated FACTS.json` (docs/logs.md). It is free text under
// fixed keys. Whoever uses a text works out what it means, and measured facts win over it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "facts/text_facts.h"

namespace headroom::facts {

struct Stated {
  std::string path;  // Of the file, for evidence; empty: nothing was stated.
  // By key: "vendor", "gpu", "gfx", "vram", "ram", "cpu", "rocm", "framework", "python", "kernel",
  // "distro", "container", "env", "cmdline". Keys with null are absent.
  std::map<std::string, std::string, std::less<>> values;

  // not_present ("not stated") for a key that is absent. The source names the file and the key.
  Text get(std::string_view key) const;
};

// Fails on what is no object, on an unknown key (naming the nearest), and on a value that is
// neither text, a number nor null.
Result<Stated> parse_stated(std::string_view json, const std::string& path);

}  // namespace headroom::facts
