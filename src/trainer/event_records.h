// SPDX-License-Identifier: Apache-2.0
// The records of TensorBoard's event files, as bytes. A file is a sequence of TFRecords
// (tensorflow/ tensorflow: tensorflow/core/lib/io/record_writer.h), each of which is an Event
// message of protocol buffers (tensorflow/core/util/event.proto, framework/summary.proto). The few
// fields that scalars need are written here (docs/decisions/0045).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::trainer {

// CRC-32C (Castagnoli), RFC 3720 appendix B.4.
std::uint32_t crc32c(std::string_view bytes);

// Length, its masked checksum, the bytes, theirs.
std::string to_record(std::string_view message);

// Each is a whole record. `wall_s`: seconds since 1970.
// The first one of a file, which names its format.
std::string version_record(double wall_s);
// A process goes on from before `step`: what older files say of it and of later ones is dropped by
// TensorBoard.
std::string session_record(double wall_s, std::uint64_t step);
// Values by their tags, kept in 32 bits as TensorBoard's simple_value is.
using Scalars = std::vector<std::pair<std::string_view, double>>;
std::string scalar_record(double wall_s, std::uint64_t step, const Scalars& scalars);

}  // namespace headroom::trainer
