// SPDX-License-Identifier: Apache-2.0
// The live page of `headroom serve`: one file that needs no other and no network. It is made anew
// at each look, so that it says something without JavaScript; with it, it follows /events.
#pragma once

#include <string>
#include <string_view>

#include "base/document_fwd.h"
#include "live/moment.h"

namespace headroom::report {

// `live`: live_json() of this moment.
std::string live_page(const nlohmann::ordered_json& live, const live::Moment& moment);
// Where the machine could not be looked at.
std::string live_page_error(std::string_view message);

}  // namespace headroom::report
