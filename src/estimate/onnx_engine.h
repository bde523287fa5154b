// SPDX-License-Identifier: Apache-2.0
// One inference of an ONNX model as ONNX Runtime runs it on a device: the weights are loaded, then
// the nodes run in order, and a tensor's memory goes back when its last reader has run.
//
// From onnxruntime/core/framework/allocation_planner.cc and the kernels of its CUDA and ROCm
// providers: reshapes are views; activations (Relu, Sigmoid, …) write over their input where nobody
// else reads it; inputs and outputs stay for the whole run. A batch norm behind a convolution is
// folded into it. Other fusions, which depend on the version, and the convolutions' workspaces are
// not counted.
#pragma once

#include "base/result.h"
#include "estimate/files/onnx_model.h"
#include "estimate/files/onnx_shapes.h"
#include "estimate/job.h"
#include "estimate/recorder.h"

namespace headroom::estimate {

// Sizes that the file leaves open are those of the job's batch (onnx_shapes.h).
OnnxBinding binding_of(const Job& job);

// Fails for a job that is not inference, where an open size stays open, and where a node reads what
// no node before it makes. Values of unknown size take nothing: OnnxShapes names them.
Result<Recording> record_onnx(const Job& job, const OnnxModel& model);

}  // namespace headroom::estimate
