// SPDX-License-Identifier: Apache-2.0
// Text and values as they may stand inside an HTML page: nothing that a model, a job or a path is
// called can become markup.
#pragma once

#include <string>
#include <string_view>

#include "base/document_fwd.h"

namespace headroom::report {

// For the content of elements and for attributes in double quotes. Hidden characters
// (base/printable.h), some of which XML does not allow, become '?'.
std::string escape_html(std::string_view text);

// JSON for a <script type="application/json">: ASCII, and without '<', '>' and '&', so that no text
// in it ends the script. What is not UTF-8 is replaced.
std::string to_script_json(const Json& value);

}  // namespace headroom::report
