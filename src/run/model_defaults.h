// SPDX-License-Identifier: Apache-2.0
// What a job leaves open and its model answers.
#pragma once

#include "base/document_fwd.h"
#include "estimate/job.h"
#include "estimate/models/architecture.h"

namespace headroom::run {

// Where `given` does not say how weights are held, as the checkpoint holds them (config.json's
// quantization_config); where it does not say how long samples are, no longer than the model's
// table of positions. Both are said in the model's notes, and so is a quantisation that headroom
// does not know.
void take_model_defaults(const Document& given, estimate::Job& job, estimate::Architecture& model);

}  // namespace headroom::run
