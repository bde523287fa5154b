// SPDX-License-Identifier: Apache-2.0
// The flags of `headroom plan` that stand for keys of a job.
#pragma once

#include <deque>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "estimate/change.h"
#include "run/job_flags.h"

namespace headroom::cli {

// Texts as typed; empty: not given. Must outlive the parse.
class PlanFlags {
 public:
  void add_to(CLI::App& command);

  // "--checkpointing layer --offload true": settings as flags; where one has none, as a job's keys.
  static std::string to_words(const estimate::Change& change);

  // The job's keys. Fails where a model is given twice.
  Result<run::JobFlags> read() const;

 private:
  struct Given {
    std::size_t flag = 0;  // Which of the table.
    std::string text;
    const CLI::Option* option = nullptr;
  };
  const std::string& text_of(std::string_view flag) const;
  void add_model_by_numbers(run::JobFlags& flags) const;

  std::deque<Given> given_;  // Never moved: CLI11 writes into them.
};

}  // namespace headroom::cli
