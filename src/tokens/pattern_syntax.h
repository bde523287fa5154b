// SPDX-License-Identifier: Apache-2.0
// The regular expressions of tokenizer.json, which Hugging Face's tokenizers give to Oniguruma, for
// PCRE2. What the two read differently is written out; what is not known to mean the same in both
// is refused, so that a text is never silently cut elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::tokens {

// Fails (unsupported) at the first part that has no translation, and names it. The answer is for
// PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE; whether it is well-formed, PCRE2 says.
Result<std::string> to_pcre2(std::string_view expression);

}  // namespace headroom::tokens
