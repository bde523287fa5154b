// SPDX-License-Identifier: Apache-2.0
// One TensorProto of an ONNX file: its size, and the numbers in it if they are few.
#pragma once

#include <vector>

#include "estimate/files/onnx_model.h"
#include "estimate/files/protobuf.h"

namespace headroom::estimate {

// Reads the message that the cursor is in.
OnnxTensor read_onnx_tensor(Cursor& cursor);

// A repeated field of numbers, one at a time or packed. Keeps the first few thousand.
void add_onnx_wholes(Cursor& cursor, const ProtobufField& field, std::vector<std::int64_t>& into);
void add_onnx_reals(Cursor& cursor, const ProtobufField& field, std::vector<double>& into);

}  // namespace headroom::estimate
