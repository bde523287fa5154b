// SPDX-License-Identifier: Apache-2.0
// Whose code raised a Python error. The innermost frame's file tells: code that a framework wrote
// by itself, in a temporary folder, is the framework's. Pure.
#pragma once

#include <string_view>

#include "logs/observation.h"

namespace headroom::findings {

// `library`: installed beside the program, and none of the frameworks that run on the GPU.
enum class CodeOwner { user, library, framework, generated, unknown };

struct RaisedIn {
  const logs::Observation* frame = nullptr;  // nullptr: the log shows none.
  CodeOwner owner = CodeOwner::unknown;
};

// By the last frame shortly before the error, in the same log, that does not merely hand a call on.
RaisedIn raised_in(const logs::Observations& log, const logs::Observation& error);

CodeOwner owner_of_path(std::string_view path);

// A call whose arguments are not those that the callee takes: who wrote the call is wrong.
bool is_wrong_call(const logs::Observation& error);

}  // namespace headroom::findings
