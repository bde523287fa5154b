// SPDX-License-Identifier: Apache-2.0
// Safetensors files on disk: tensors read one at a time straight into the memory where they stay,
// and written without a second copy.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "estimate/files/safetensors_header.h"
#include "machine/descriptor.h"

namespace headroom::trainer {

using estimate::SafetensorsEntry;
using estimate::SafetensorsHeader;

class SafetensorsFile {
 public:
  // Reads and checks the header. Errors say what was expected and what was found.
  static Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // The header's bytes as they lie there, with the 8 of its length.
  Result<std::string> read_header_bytes() const;

  // Reads a tensor into `into`: contiguous, on the CPU, of the entry's shape. Of another
  // floating-point dtype it is converted; that takes a temporary of the tensor's size (tag
  // workspace). Requires: `name` is in tensors().
  Status read(const std::string& name, const at::Tensor& into) const;
  // The same for a part of it: as many numbers as `into` has, from the number `first` on.
  Status read_part(const std::string& name, std::int64_t first, const at::Tensor& into) const;

 private:
  SafetensorsFile(std::string path, machine::Descriptor file, SafetensorsHeader header);
  Status read_bytes(std::uint64_t offset, const at::Tensor& into) const;

  std::string path_;
  machine::Descriptor file_;
  SafetensorsHeader header_;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // Contiguous, on the CPU; fp64, fp32, bf16, fp16, uint8 or int8.
};

// Their names, types, shapes and sizes.
std::vector<estimate::NamedSafetensor> describe(const std::vector<NamedTensor>& tensors);

// Replaces the file or leaves it as it was (atomic_file.h). `give` hands over all tensors' bytes,
// one after the other, in pieces of any size. A full disk is Errc::no_space.
using TensorSink = std::function<Status(const void* data, std::size_t bytes)>;
Status write_safetensors(const std::string& path, std::vector<estimate::NamedSafetensor> entries,
                         const std::map<std::string, std::string>& metadata,
                         const std::function<std::string(std::string header)>& finish,
                         const std::function<Status(const TensorSink& sink)>& give);

// Replaces the file or leaves it as it was (atomic_file.h). A full disk is Errc::no_space.
// `finish` may change the header's bytes, but not how many they are.
Status write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata,
                         const std::function<std::string(std::string header)>& finish = {});

}  // namespace headroom::trainer
