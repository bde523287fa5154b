// SPDX-License-Identifier: Apache-2.0
// The GPU that device.gpu = "auto" means: this machine's, as `headroom check` sees it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "estimate/device.h"

namespace headroom::cli {

// Of several, the one with the most memory left. `root` is as in `headroom check --root`. Fails
// where no GPU is found, or its limits cannot be read.
Result<estimate::PresentGpu> find_present_gpu(const std::string& root, const Context& context);

// Fails with invalid where a machine is named and the job does not ask for its GPU: the folder
// would be passed over in silence.
Result<void> expect_root_is_used(const estimate::Job& job, const std::string& root);

// The device that a job is planned for. This machine's GPU is looked at only where the job asks for
// it: headroom's own trainer has the machine's memory.
// Fails as the two above do.
Result<estimate::Device> find_planned_device(const estimate::Job& job, const std::string& root,
                                             const Context& context);

}  // namespace headroom::cli
