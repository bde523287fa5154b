// SPDX-License-Identifier: Apache-2.0
// What a config.json says beside the layers: how its weights are stored, and for which task the
// model was saved.
#pragma once

#include "estimate/models/config_reader.h"

namespace headroom::estimate {

// torch_dtype or dtype, and quantization_config.
void read_storage(ConfigReader& config, Architecture& out);

// "architectures": the class that was saved decides what stands on the layers. Without it, or with
// one that is not known, the family's own choice stays.
void read_task(ConfigReader& config, Architecture& out);

}  // namespace headroom::estimate
