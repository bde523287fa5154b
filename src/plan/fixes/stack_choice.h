// SPDX-License-Identifier: Apache-2.0
// The software that is known to carry this machine's card, from the tables (data/stacks.toml,
// data/gpus.toml, data/overrides.toml): what pip has to install, from where, into which Python, and
// with which environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/fix.h"

namespace headroom::plan {

struct StackChoice {
  std::string gpu;  // Its name, with its target: "AMD Instinct MI50 (gfx906)".
  std::string gfx;
  std::string requirement;      // "torch==2.4.1+rocm6.0", "torch[device-gfx1151]".
  std::string index;            // The wheel index, whole.
  bool page = false;            // It is a page of wheels beside PyPI, and no index.
  std::string python;           // The interpreter to make the environment with: "python3.12".
  std::string python_versions;  // What the wheels exist for: "3.8 to 3.12".
  std::vector<std::string> environment;  // "HSA_OVERRIDE_GFX_VERSION=10.3.0".
  std::vector<std::string> remarks;      // Why this one; how it is known.
  bool pinned = false;                   // The requirement names one version.
  std::string decides;  // The command that shows whether it computes right here; may be empty.
};

// Of the GPU that jobs would choose: the best suited, discrete before integrated. Fails with
// unsupported where nothing is known to carry any.
Result<StackChoice> choose_stack(const FixSubject& subject);

std::string requirements_of(const StackChoice& choice);  // requirements.txt
std::string environment_of(const StackChoice& choice);  // A file for `source` and EnvironmentFile=.
// Who makes the folder, and in it requirements.txt and env.
enum class WrittenBy { the_user, headroom };
// The commands that set it up in `folder`, one per line.
std::vector<std::string> commands_of(const StackChoice& choice, const std::string& folder,
                                     WrittenBy by);

}  // namespace headroom::plan
