// SPDX-License-Identifier: Apache-2.0
// What pages for a browser have in common: their head, and text and values as they may stand inside
// one: nothing that a model, a job or a path is called can become markup.
#pragma once

#include <initializer_list>
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

// From the document's type to <body>. `title` may be any text, `styles` are the page's own.
std::string page_head(std::string_view title, std::initializer_list<std::string_view> styles);

// A square in the colour of a class of the page, to stand beside the name of what is drawn in it.
std::string colour_key(std::string_view css_class);

}  // namespace headroom::report
