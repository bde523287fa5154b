// SPDX-License-Identifier: Apache-2.0
// What training programs say of modules and kernels beside the projections of a layer.
#pragma once

#include <string>

#include "run/training_settings.h"

namespace headroom::run {

// The setting "saved": modules that PEFT copies and trains whole. Those that are planned are taken,
// the others left out under the option's name.
void take_saved_modules(TrainingSettings& settings);

// The setting "liger", true: use_liger_kernel, and "liger_config" with it: liger_kernel_config.
// TRL's preference trainers have kernels of their own, and there it is left out.
void take_liger(TrainingSettings& settings, bool prefers);

}  // namespace headroom::run
