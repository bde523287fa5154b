// SPDX-License-Identifier: Apache-2.0
// What may be varied of one service, found in its SERVICE.toml or in data/service_knobs.toml, and
// the [[change]] that makes a point of that grid so.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/spec.h"
#include "knowledge/service_knobs.h"
#include "tune/grid.h"

namespace headroom::tune {

// What a service says of itself: the values of variables and keys, by file; its command and image.
struct Present {
  std::map<std::string, std::map<std::string, std::string>> values;  // File → name → value.
  std::vector<std::string> command;
  std::string image;
  std::string file;  // Where variables and options of the service are set; empty: not known.
};

struct Resources {
  std::uint64_t cores = 1;
  std::uint64_t at_once = 1;  // How many requests the smoke test has under way.
};

// The settings of SERVICE.toml, or without any those of the table's programs that the service runs.
// Fails with not_found where there is nothing to vary, and with invalid where the combinations are
// too many, or a setting has no file.
Result<Space> make_space(const deploy::ServiceSpec& spec, const Present& present,
                         const Resources& resources, const knowledge::ServiceKnobs& knobs);

// The changes that make a point so, one for each file; none where it is as the files say already.
std::vector<deploy::FileChange> changes_of(const Space& space, const Point& point);

// The same as [[change]] tables of a SERVICE.toml.
std::string to_toml(const std::vector<deploy::FileChange>& changes);

}  // namespace headroom::tune
