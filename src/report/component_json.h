// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/component.h"
#include "base/document_fwd.h"

namespace headroom::report {

// {"weights": …, …}: every component, in bytes.
Json to_json(const allocator::ByComponent& components);

}  // namespace headroom::report
