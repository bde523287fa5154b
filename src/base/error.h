// SPDX-License-Identifier: Apache-2.0
// What went wrong, in a form that a person can act on and a program can switch on.
#pragma once

#include <string>
#include <string_view>

namespace headroom {

enum class Errc {
  not_found,
  no_permission,
  invalid,      // The input was read and makes no sense.
  unsupported,  // It makes sense, and this build or machine cannot do it.
  out_of_memory,
  no_space,
  io,
  busy,             // Somebody else is at it right now.
  not_this_system,  // A captured machine was asked to change or to run something.
};

std::string_view to_string(Errc code);

// `message` says what was expected and what was found, outermost context first. `next` is the
// command or the edit that gets the reader further; empty only where there is none.
struct Error {
  Errc code = Errc::invalid;
  std::string message;
  std::string next;
  // The key of a job or of a table that the message begins with: "batch.micro". Empty where it
  // begins otherwise.
  std::string key = {};

  // Adds context in front: error.in("reading job.toml") → "reading job.toml: …".
  Error in(std::string_view doing) &&;
  // Adds the key that it is about in front: error.at("batch.micro") → "batch.micro: …".
  Error at(std::string_view key_in_question) &&;
};

}  // namespace headroom
