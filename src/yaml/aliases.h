// SPDX-License-Identifier: Apache-2.0
// A YAML tree in which every alias stands for what its anchor named (YAML 1.2, 7.1), and a map's
// key "<<" for the entries of other maps (the merge key of YAML 1.1, which Compose files use).
#pragma once

#include "base/result.h"
#include "yaml/tree.h"

namespace headroom {

// For reading: places of what was filled in are those of the anchor. An alias within its own anchor
// and one without an anchor stay as they are. Fails where the tree would have more than 100,000
// nodes, as one of nested aliases does.
Result<YamlNode> fill_in_aliases(YamlNode root);

}  // namespace headroom
