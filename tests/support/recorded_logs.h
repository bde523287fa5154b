// SPDX-License-Identifier: Apache-2.0
// The recorded logs of ../shared, and the answer that `check --log` has to any text: its root
// cause, computed in this process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "logs/matcher.h"

namespace headroom::testing {

struct Recorded {
  std::string name, log, facts;  // The facts are JSON, as --stated takes them.
};

// Sorted by name; empty without ../shared.
const std::vector<Recorded>& logs_there();

// A recorded log's name as one of a test.
std::string name_of(std::size_t log);

const logs::Matcher& all_signatures();

enum class Reading { may_be_pasted, as_written };

// The id of the root cause.
std::string answer(std::string_view log, std::string_view facts,
                   Reading reading = Reading::may_be_pasted);

bool matches_signature(std::string_view line);

}  // namespace headroom::testing
