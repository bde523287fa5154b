// SPDX-License-Identifier: Apache-2.0
// What would fit instead, for people: the settings as a job names them, what each costs, and the
// cards that would hold the job.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimate/plan.h"

namespace headroom::report {

// A key of a job and its new value.
struct Setting {
  std::string table, key;
  std::string value;
  bool is_word;  // In TOML it stands in quotes.
};
// Those of one table stand together, in the order of a job's file.
std::vector<Setting> settings_of(const estimate::Change& change);

// "[batch] micro = 2, accumulate = 4 and [compute] checkpointing = "layer"": the settings of a
// change, as a job names them.
std::string to_text(const estimate::Change& change);

// What its change costs beside its speed, a few words each: "every layer is computed twice".
std::vector<std::string> costs_of(const estimate::Advice& advice);

// A change in the words of whoever asked, in the place of to_text(); empty: to_text().
using SettingWords = std::function<std::string(const estimate::Change&)>;

// Everything that is said below the breakdown; empty where nothing is to be said.
std::string advice_text(const estimate::Plan& plan, std::size_t width,
                        const SettingWords& words = {});

}  // namespace headroom::report
