// SPDX-License-Identifier: Apache-2.0
// One file as a Text fact: the error of the door becomes the reason why it is missing.
#pragma once

#include <string>

#include "facts/text_facts.h"
#include "machine/files.h"

namespace headroom::probe {

facts::Text read_text(const machine::Files& files, const std::string& path);
facts::Missing to_missing(const Error& error);

}  // namespace headroom::probe
