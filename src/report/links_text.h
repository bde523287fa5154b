// SPDX-License-Identifier: Apache-2.0
// Several GPUs among each other as text: how each is connected, and what joins each pair.
#pragma once

#include <string>

#include "facts/facts.h"
#include "report/style.h"

namespace headroom::report {

// Empty with fewer than two GPUs that compute can reach, and with more than a table can show.
std::string peers_table(const facts::Facts& facts, const Style& style);

// "x16 at 16 GT/s"; "asleep" or "-" where it is not known.
std::string link_words(const facts::Connection& connection);

}  // namespace headroom::report
