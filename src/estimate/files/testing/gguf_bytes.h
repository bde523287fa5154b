// SPDX-License-Identifier: Apache-2.0
// GGUF files written by hand after the format's description, for tests.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::estimate::testing {

class GgufBytes {
 public:
  explicit GgufBytes(std::uint32_t version = 3, bool big_endian = false)
      : version_(version), big_endian_(big_endian) {}

  GgufBytes& text(std::string_view key, std::string_view value) {
    begin(key, 8);
    add_text(pairs_, value);
    return *this;
  }
  GgufBytes& u32(std::string_view key, std::uint32_t value) {
    begin(key, 4);
    add(pairs_, value, 4);
    return *this;
  }
  GgufBytes& f32(std::string_view key, float value) {
    begin(key, 6);
    add(pairs_, std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  GgufBytes& boolean(std::string_view key, bool value) {
    begin(key, 7);
    add(pairs_, value ? 1 : 0, 1);
    return *this;
  }
  GgufBytes& texts(std::string_view key, const std::vector<std::string>& values) {
    begin(key, 9);
    add(pairs_, 8, 4);
    add(pairs_, values.size(), 8);
    for (const std::string& value : values) add_text(pairs_, value);
    return *this;
  }
  GgufBytes& u32s(std::string_view key, const std::vector<std::uint32_t>& values) {
    begin(key, 9);
    add(pairs_, 4, 4);
    add(pairs_, values.size(), 8);
    for (const std::uint32_t value : values) add(pairs_, value, 4);
    return *this;
  }
  // Any kind of value, its bytes as they are.
  GgufBytes& raw(std::string_view key, std::uint32_t kind, std::string_view bytes) {
    begin(key, kind);
    pairs_ += bytes;
    return *this;
  }
  // `shape` innermost first, as in the file; `bytes` is what the tensor takes.
  GgufBytes& tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
                    std::uint32_t type, std::uint64_t bytes) {
    return tensor_at(name, shape, type, data_bytes_, bytes);
  }
  GgufBytes& tensor_at(std::string_view name, const std::vector<std::uint64_t>& shape,
                       std::uint32_t type, std::uint64_t offset, std::uint64_t bytes) {
    ++tensor_count_;
    add_text(tensors_, name);
    add(tensors_, shape.size(), 4);
    for (const std::uint64_t size : shape) add(tensors_, size, 8);
    add(tensors_, type, 4);
    add(tensors_, offset, 8);
    data_bytes_ = (offset + bytes + 31) / 32 * 32;
    return *this;
  }

  // Without the tensors' data.
  std::string header() const {
    std::string file = "GGUF";
    add(file, version_, 4);
    add(file, tensor_count_, 8);
    add(file, pair_count_, 8);
    return file + pairs_ + tensors_;
  }
  std::string file() const {
    std::string file = header();
    file.resize((file.size() + 31) / 32 * 32);
    return file + std::string(data_bytes_, '\x5a');
  }

 private:
  void begin(std::string_view key, std::uint32_t kind) {
    ++pair_count_;
    add_text(pairs_, key);
    add(pairs_, kind, 4);
  }
  void add(std::string& to, std::uint64_t number, std::uint32_t bytes) const {
    for (std::uint32_t i = 0; i < bytes; ++i) {
      const std::uint32_t place = big_endian_ ? bytes - 1 - i : i;
      to += static_cast<char>(number >> (8 * place) & 0xffU);
    }
  }
  void add_text(std::string& to, std::string_view text) const {
    add(to, text.size(), 8);
    to += text;
  }

  std::uint32_t version_;
  bool big_endian_;
  std::uint64_t pair_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::string pairs_;
  std::string tensors_;
};

// A Llama of two layers: 4 heads, 2 of them for keys and values, a vocabulary of 96.
inline GgufBytes tiny_llama(std::uint32_t version = 3, bool big_endian = false) {
  GgufBytes bytes(version, big_endian);
  bytes.text("general.architecture", "llama")
      .u32("llama.block_count", 2)
      .u32("llama.embedding_length", 256)
      .u32("llama.feed_forward_length", 512)
      .u32("llama.attention.head_count", 4)
      .u32("llama.attention.head_count_kv", 2)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
      .u32("llama.context_length", 2048)
      .texts("tokenizer.ggml.tokens", std::vector<std::string>(96, "t"))
      .tensor("token_embd.weight", {256, 96}, 14, 96 * 210)  // Q6_K
      .tensor("output_norm.weight", {256}, 0, 1024)
      .tensor("blk.0.attn_q.weight", {256, 256}, 12, 256 * 144)  // Q4_K
      .tensor("blk.0.attn_q.bias", {256}, 1, 512);
  return bytes;
}

}  // namespace headroom::estimate::testing
