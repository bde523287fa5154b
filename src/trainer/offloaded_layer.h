// SPDX-License-Identifier: Apache-2.0
// What a layer keeps for its backward pass, moved to host memory when its forward pass is done, and
// back in front of its backward pass. Tensors that share memory share it there as well.
//
// Memory. To the host: there, as much as the layer keeps (tag activations); on the device, nothing.
// Back: on the device as much (activations), and what was on the host goes, one after the other.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/host_domain.h"
#include "trainer/layer.h"

namespace headroom::trainer {

// Throws OutOfHostMemory; `saved` is then of no more use.
void to_host(LayerSaved& saved, HostDomain& host);
// Requires: to_host().
void to_device(LayerSaved& saved, const at::Device& device);

}  // namespace headroom::trainer
