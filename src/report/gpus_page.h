// SPDX-License-Identifier: Apache-2.0
// docs/gpus.md: what is known of every target, override and known-bad combination, for a person who
// looks a card up. From the tables alone; a test writes it and fails where it is out of date.
#pragma once

#include <string>

#include "knowledge/gpu_tables.h"

namespace headroom::report {

std::string gpus_page(const knowledge::GpuTables& tables);

}  // namespace headroom::report
