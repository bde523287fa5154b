// SPDX-License-Identifier: Apache-2.0
// The model that did best on the evaluation data, beside the run's last one: OUTPUT/best, in the
// formats that Hugging Face and PEFT read.
//
// A checkpoint is written first, and then the model: the checkpoint's parameters are those of the
// best step until the next step changes them. So a run that is killed between the two writes the
// model when it is resumed, and what lies in the folder always is what the checkpoint says.
#pragma once

#include <cstdint>
#include <string>

#include "base/document_fwd.h"
#include "base/result.h"
#include "trainer/model.h"
#include "trainer/tensor_writer.h"

namespace headroom::trainer {

class BestModel {
 public:
  // `config`: as save_model() takes it. `base`: as save_adapter() does.
  BestModel(const std::string& output, const Json& config, const Json& base)
      : folder_(output + "/best"), config_(config), base_(base) {}

  const std::string& folder() const { return folder_; }
  Status save(Model& model, std::uint64_t step, double loss, const TensorWriter& writer = {}) const;
  // Whether the model of this step is there.
  bool holds(std::uint64_t step, const Model& model) const;

 private:
  std::string folder_;
  const Json& config_;
  const Json& base_;
};

}  // namespace headroom::trainer
