// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a model folder lie: its files may be several.
#pragma once

#include <map>
#include <string>

#include "trainer/safetensors_file.h"

namespace headroom::trainer {

// Where a tensor lies, and what it is called there.
struct Place {
  const SafetensorsFile* file = nullptr;
  std::string name;

  const SafetensorsEntry& entry() const { return file->tensors().at(name); }
};

// By the names of the model's parameters. GPT-2's own files leave "transformer." out.
using Places = std::map<std::string, Place>;

}  // namespace headroom::trainer
