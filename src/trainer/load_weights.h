// SPDX-License-Identifier: Apache-2.0
// Weights from a Hugging Face model folder into a Model.
#pragma once

#include <string>

#include "base/result.h"
#include "trainer/model.h"

namespace headroom::trainer {

// Whether the folder holds weights as safetensors (model.safetensors, or shards with their
// model.safetensors.index.json). Fails where it holds weights in another format only: training from
// random weights would then be a surprise.
Result<bool> has_weights(const std::string& folder);

// Fills every base parameter. Fails, before anything is read, with the names of the tensors that
// are missing, that the model has no place for, or whose shape is not the one that config.json
// implies. Of a model that is split, those of the other parts are left alone.
//
// A model that keeps its matrices quantised takes them as files hold them, if they are quantised in
// the same way (stored_quantised.h), and else quantises them while they are read, a piece at a
// time.
Status load_weights(const std::string& folder, Model& model);

}  // namespace headroom::trainer
