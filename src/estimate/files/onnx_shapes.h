// SPDX-License-Identifier: Apache-2.0
// The shape of every value of an ONNX graph, once the sizes that the file leaves open are bound to
// what the job says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/files/onnx_call.h"
#include "estimate/files/onnx_model.h"

namespace headroom::estimate {

// What the open sizes are.
struct OnnxBinding {
  std::uint64_t batch = 1;
  std::uint64_t sequence = 1;
  std::map<std::string, OnnxShape> shapes;  // Of whole inputs, by name; these win.
};

struct OnnxShapes {
  std::map<std::string, OnnxFact> facts;  // By the value's name.
  std::vector<std::string> unknown;  // Values of no known size, each with its operator, in order.
  std::vector<std::string> assumed;  // How open sizes were bound, in words.
};

// An open size is the batch if it is an input's first and its name does not say otherwise, or its
// name says so, and the sequence if its name says that. Fails where an input has another open size,
// or a given shape does not match the file's; each error says how to give the shape.
Result<OnnxShapes> infer_onnx_shapes(const OnnxModel& model, const OnnxBinding& binding);

}  // namespace headroom::estimate
