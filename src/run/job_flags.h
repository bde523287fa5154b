// SPDX-License-Identifier: Apache-2.0
// A job, or parts of one, from the command line: the same keys as in a job file, laid over it
// before it is parsed, so that every rule and every message is the same.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/document.h"
#include "base/error.h"
#include "estimate/job.h"

namespace headroom::run {

struct JobFlags {
  Json keys = Json::object();                // {"batch": {"micro": 4}}, as a job has them.
  std::map<std::string, std::string> flags;  // "batch.micro" → "--batch", of those that are set.

  bool empty() const { return flags.empty(); }
  void set(const std::string& key, Json value, const std::string& flag);
  bool names_model() const {
    return flags.contains("model.name") || flags.contains("model.config");
  }
  // Puts the other's keys over these. A model takes the place of the one here.
  void add(const JobFlags& other);
};

// Puts the flags' keys in the place of the document's. model.name and model.config exclude each
// other: what a flag names is the model.
void apply(const JobFlags& flags, Document& document);

// "--batch: batch.micro: expected …" where the error is about a flag's key, else in(name).
Error place_error(Error error, const JobFlags& flags, const std::string& name);

// What a job made of flags alone leaves open, and what is taken for it; empty if nothing.
std::string default_note(const JobFlags& flags, const estimate::Job& job);

// "Not used, because vLLM has its own options: --batch." of what is not about the device; empty if
// nothing is.
std::string unused_note(const JobFlags& flags, std::string_view program);

}  // namespace headroom::run
