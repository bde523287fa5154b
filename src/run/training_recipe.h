// SPDX-License-Identifier: Apache-2.0
// The recipe of a training program: a YAML or JSON file with one setting a line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "run/training_arguments.h"

namespace headroom::run {

// "config.yml", "sft.yaml", "job.json"
bool is_recipe_name(const std::string& word);

// The settings of the file at `path`, in its order. One that is null is not there; one that is a
// table is its text in one line, "{rope: false}"; one with tables or lists in it, or a list of
// tables, has no values. Fails where the file cannot be read or is no table.
Result<std::vector<GivenArgument>> read_recipe(const std::string& path);
// The same of its text.
Result<std::vector<GivenArgument>> parse_recipe(const std::string& text);

// Of a file with tables in tables: "model.lora_rank". A list of tables has no values.
Result<std::vector<GivenArgument>> read_nested_recipe(const std::string& path);

}  // namespace headroom::run
