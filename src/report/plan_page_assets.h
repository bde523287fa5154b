// SPDX-License-Identifier: Apache-2.0
// The style and the script of the page that `headroom plan --html` writes. They stand in the page
// itself: it needs no other file and no network.
#pragma once

#include <string_view>

namespace headroom::report {

// Light, dark and on paper. The colours of the components are Paul Tol's "muted" scheme
// (personal.sron.nl/~pault), which people with any kind of colour blindness can tell apart; in the
// dark, the two darkest of them are lighter.
extern const std::string_view plan_page_style;

// Says what is live where the pointer is, or where the arrow keys have moved to.
extern const std::string_view plan_page_script;

}  // namespace headroom::report
