// SPDX-License-Identifier: Apache-2.0
// Tells whose code raised a Python error, from the innermost frame's file. Code that a framework
// generated in a temporary folder is the framework's. Pure.
#pragma once

#include <string_view>

#include "logs/observation.h"

namespace headroom::findings {

// `library`: an installed package that is none of the frameworks which run on the GPU.
enum class CodeOwner { user, library, framework, generated, unknown };

struct RaisedIn {
  const logs::Observation* frame = nullptr;  // nullptr if the log shows none.
  CodeOwner owner = CodeOwner::unknown;
};

// Goes by the last frame shortly before the error, in the same log, that does not merely pass a
// call on.
RaisedIn raised_in(const logs::Observations& log, const logs::Observation& error);

// Finds the program's frame that asks a library for a name it does not have, where the log ends
// before the error itself; else nullptr.
const logs::Observation* lookup_cut_off(const logs::Observations& log);

CodeOwner owner_of_path(std::string_view path);

// The frame of a library's own module, neither PyTorch's nor Python's, that asked for what is
// missing: it imports it at its own import, whatever the program needs. nullptr if the program
// itself did.
const logs::Observation* imports_undemanded(const logs::Observations& log,
                                            const logs::Observation& error);

// Whether the error is a call with arguments that the callee does not take, a mistake of the
// caller.
bool is_wrong_call(const logs::Observation& error);

}  // namespace headroom::findings
