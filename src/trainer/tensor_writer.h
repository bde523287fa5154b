// SPDX-License-Identifier: Apache-2.0
// Files of tensors that several processes may have a part of each: of a model that is split, every
// rank calls, and the first one writes the file that a process with the whole model would write.
// Nothing is gathered in memory; bytes pass through the ranks' segment piece by piece.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "trainer/ranks/ranks.h"
#include "trainer/safetensors_file.h"

namespace headroom::trainer {

// What the file says of itself beside its tensors.
using Remarks = std::map<std::string, std::string>;

class TensorWriter {
 public:
  TensorWriter() = default;  // Of a process that has and writes everything.
  // `ranks` outlives it. Where the ranks are not split, the one that writes has everything.
  TensorWriter(Ranks& ranks, bool writes)
      : ranks_(ranks.is_split() ? &ranks : nullptr), writes_(writes) {}

  bool writes() const { return writes_; }

  // As write_safetensors(), with the remarks of all ranks together; does nothing on a rank that
  // does not write and has no part. `tensors`: this rank's, behind those of the ranks before it.
  Status write(const std::string& path, const std::vector<NamedTensor>& tensors,
               const Remarks& remarks,
               const std::function<std::string(std::string header)>& finish = {}) const;

 private:
  struct Parts {
    std::vector<std::vector<estimate::NamedSafetensor>> of_ranks;
    Remarks remarks;
  };
  Result<Parts> agree(const std::vector<NamedTensor>& tensors, const Remarks& remarks) const;
  Status give(const Parts& parts, const std::vector<NamedTensor>& tensors,
              const TensorSink& sink) const;

  Ranks* ranks_ = nullptr;
  bool writes_ = true;
};

}  // namespace headroom::trainer
