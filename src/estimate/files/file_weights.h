// SPDX-License-Identifier: Apache-2.0
// A model's own files know its weights better than any arithmetic over its config: what they are
// called, how they are packed, what else is in there.
#pragma once

#include "estimate/files/weight_file.h"
#include "estimate/job.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// Whether the files say what the job holds: weights that are not trained, and that are packed in
// the files or loaded in a plain type.
bool hold_their_weights(const WeightFile& file, const Job& job);

// Puts the tensors of the files in the place of the weights that an engine allocated on loading.
void hold_file_weights(Recording& recording, const WeightFile& file, DType dtype);

}  // namespace headroom::estimate
