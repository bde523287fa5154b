// SPDX-License-Identifier: Apache-2.0
#include "estimate/vllm/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "estimate/files/weight_file.h"
#include "estimate/models/parameters.h"

namespace headroom::estimate::vllm {
namespace {

// Of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp): a block of 10 MiB and more
// comes from a segment of whole 2 MiB, and a rest of up to 1 MiB is left with it.
std::uint64_t allocated(std::uint64_t bytes) {
  constexpr std::uint64_t small_unit = 512, from = 10ULL << 20U, segment = 2ULL << 20U,
                          rest_max = 1ULL << 20U;
  bytes = round_up(bytes, small_unit);
  if (bytes < from) return bytes;
  const std::uint64_t whole = round_up(bytes, segment);
  return whole - bytes <= rest_max ? whole : bytes;
}

class Shard {
 public:
  Shard(const Architecture& model, const Storage& storage, std::uint64_t ranks)
      : model_(model), storage_(storage), ranks_(ranks) {}

  std::uint64_t bytes() {
    const Stack& stack = model_.main();
    for (std::uint64_t layer = 0; layer < stack.layers; ++layer) add_layer(stack, layer);
    // Rows of the vocabulary are padded to 64 before they are split.
    const std::uint64_t rows = round_up(model_.vocabulary, 64 * ranks_) / ranks_;
    const std::uint64_t width = stack.input.width == 0 ? stack.hidden : stack.input.width;
    const bool has_head = model_.head.kind == Head::Kind::language && !model_.head.tied;
    counted_ += model_.vocabulary * width * (has_head ? 2 : 1);
    for (int i = 0; i < (has_head ? 2 : 1); ++i) sum_ += allocated(rows * width * plain());
    // Norms, biases, tables of positions and towers of other modalities, on each GPU.
    const std::uint64_t all = parameter_count(model_);
    sum_ += (all > counted_ ? all - counted_ : 0) * plain();
    return sum_;
  }

 private:
  std::uint64_t plain() const { return storage_.type_size; }

  void add_matrix(std::uint64_t out, std::uint64_t in) {
    counted_ += out * in;
    add_split(static_cast<double>(out) * static_cast<double>(in));
  }

  void add_split(double elements) {
    const double bytes = elements * storage_.bits / 8 / static_cast<double>(ranks_);
    sum_ += allocated(static_cast<std::uint64_t>(std::ceil(bytes)));
  }

  void add_layer(const Stack& stack, std::uint64_t layer) {
    const AttentionShape& shape = stack.attention;
    // A head of keys that more GPUs share than there are heads is on each of them.
    const std::uint64_t kv = std::max(shape.kv_heads, ranks_) * shape.head_dim;
    counted_ += shape.fused_size() * stack.hidden;
    add_split(static_cast<double>(shape.query_size() + 2 * kv) * static_cast<double>(stack.hidden));
    add_matrix(stack.hidden, shape.query_size());
    const bool expert = stack.experts && stack.experts->in_layer(layer);
    const std::uint64_t inner = expert ? stack.experts->intermediate : stack.mlp.intermediate;
    // The experts of a layer are two tensors.
    const std::uint64_t times = expert ? stack.experts->count : 1;
    add_matrix(times * (stack.mlp.gated ? 2 : 1) * inner, stack.hidden);
    add_matrix(times * stack.hidden, inner);
    if (expert && stack.experts->shared_intermediate > 0) {
      add_matrix((stack.mlp.gated ? 2 : 1) * stack.experts->shared_intermediate, stack.hidden);
      add_matrix(stack.hidden, stack.experts->shared_intermediate);
    }
  }

  const Architecture& model_;
  const Storage& storage_;
  std::uint64_t ranks_;
  std::uint64_t sum_ = 0;
  std::uint64_t counted_ = 0;  // Parameters that are in sum_.
};

// Cosines and sines of all positions, once.
std::uint64_t rotary_bytes(const Architecture& model, const Storage& storage,
                           std::uint64_t max_length) {
  const Stack& stack = model.main();
  if (stack.positions != Positions::rotary) return 0;
  const std::uint64_t rows = std::max(model.max_positions, max_length);
  const double width = static_cast<double>(stack.attention.head_dim) * stack.attention.rotary_part;
  return rows * static_cast<std::uint64_t>(width) * storage.type_size;
}

constexpr double scale_bits = 16;

Result<Storage> quantised(Storage storage, const std::string& method, double bits, double group) {
  storage.name = method;
  const double each_group = group > 0 ? scale_bits / group : 0;
  if (method.find("awq") != std::string::npos || method.find("gptq") != std::string::npos) {
    if (bits == 0) bits = 4;
    storage.bits = bits + each_group + (group > 0 ? bits / group : 0);  // Zeros are packed as well.
    return storage;
  }
  if (method == "bitsandbytes") {
    constexpr double block = 64;  // One fp32 scale each.
    storage.bits = bits == 8 ? 8 : 4 + 32 / block;
    return storage;
  }
  if (method == "fp8" || method == "ptpc_fp8" || method == "fbgemm_fp8") {
    storage.bits = 8;
    return storage;
  }
  return Error{Errc::unsupported,
               fmt::format("--quantization: expected fp8, awq, gptq or bitsandbytes, found \"{}\", "
                           "which is not planned",
                           method.substr(0, 80)),
               "plan the model's folder, whose files say what they hold"};
}

}  // namespace

Result<Storage> storage_of(const Architecture& model, const Options& options) {
  Storage storage;
  storage.name = options.dtype;
  // "auto" takes half precision where the checkpoint is in fp32.
  if (storage.name == "auto")
    storage.name = model.dtype.empty()        ? "half precision"
                   : model.dtype == "float32" ? "float16"
                                              : model.dtype;
  storage.type_size = storage.name == "float32" ? 4 : 2;
  storage.bits = static_cast<double>(8 * storage.type_size);
  const auto& stored = model.stored;
  const std::string method = !options.quantization.empty() ? options.quantization
                             : stored                      ? stored->method
                                                           : "";
  if (method.empty() || method == "none") return storage;
  if (model.weights && is_packed(*model.weights)) {
    storage.name = method;  // The files say the rest.
    return storage;
  }
  const bool online_bits = !stored && method == "bitsandbytes";
  const double bits = stored ? static_cast<double>(stored->bits) : online_bits ? 4 : 0;
  const double group = stored ? static_cast<double>(stored->group_size) : 128;
  return quantised(std::move(storage), method, bits, group);
}

std::uint64_t weights_bytes(const Architecture& model, const Storage& storage,
                            std::uint64_t tensor_parallel, std::uint64_t max_length) {
  const std::uint64_t rotary = rotary_bytes(model, storage, max_length);
  if (model.weights && is_packed(*model.weights)) {
    std::uint64_t sum = 0;
    for (const StoredTensor& tensor : model.weights->tensors) {
      const bool plain = tensor.shape.size() < 2;
      sum += allocated(plain ? tensor.bytes : tensor.bytes / tensor_parallel);
    }
    return sum + rotary;
  }
  return Shard(model, storage, tensor_parallel).bytes() + rotary;
}

}  // namespace headroom::estimate::vllm
