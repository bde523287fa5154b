// SPDX-License-Identifier: Apache-2.0
// Tells sentences that a person wrote from lines that programs print, by their small words: what
// programs print is mostly names and figures.
#pragma once

#include <string_view>

#include "knowledge/signatures.h"

namespace headroom::logs {

// Whether a line, without its prefix, reads like a sentence that a person wrote.
bool is_sentence(std::string_view line);

// Of the observations that the reader makes of sentences: "sentence". Its text is the whole line.
const knowledge::Signature& sentence_signature();

}  // namespace headroom::logs
