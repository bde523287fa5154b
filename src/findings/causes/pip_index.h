// SPDX-License-Identifier: Apache-2.0
// Where pip was told to look for PyTorch. For the rule wrong-wheel.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// pip was asked for a build for ROCm without being told where those are.
std::optional<Hypothesis> find_wrong_index(const LogSubject& subject);

// The index that was named has no such release for any Python.
std::optional<Hypothesis> find_older_index(const LogSubject& subject);

// PyTorch sees no GPU, and was installed with an index for ROCm named beside PyPI only, from which
// pip may take what it likes; the surer if that index is none of PyTorch's. Nothing if a line shows
// which build was installed.
std::optional<Hypothesis> find_index_beside_pypi(const LogSubject& subject);

}  // namespace headroom::findings
