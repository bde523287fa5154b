// SPDX-License-Identifier: Apache-2.0
#include "trainer/tensor_writer.h"

#include <ATen/ATen.h>

#include "base/document.h"

namespace headroom::trainer {
namespace {

constexpr std::uint32_t writer = 0;  // Of a split job, whose ranks all stay.

Json to_json(const std::vector<estimate::NamedSafetensor>& entries, const Remarks& remarks) {
  Json tensors = Json::array();
  for (const auto& [name, entry] : entries)
    tensors.push_back(
        {{"name", name}, {"dtype", entry.dtype}, {"shape", entry.shape}, {"bytes", entry.bytes}});
  return {{"tensors", tensors}, {"remarks", remarks}};
}

// What another rank of this very program has written.
std::vector<estimate::NamedSafetensor> entries_of(const Json& part) {
  std::vector<estimate::NamedSafetensor> entries;
  for (const Json& tensor : part.at("tensors"))
    entries.push_back({tensor.at("name").get<std::string>(),
                       {.dtype = tensor.at("dtype").get<std::string>(),
                        .shape = tensor.at("shape").get<std::vector<std::int64_t>>(),
                        .bytes = tensor.at("bytes").get<std::uint64_t>()}});
  return entries;
}

}  // namespace

Result<TensorWriter::Parts> TensorWriter::agree(const std::vector<NamedTensor>& tensors,
                                                const Remarks& remarks) const {
  Parts parts;
  HEADROOM_TRY(const auto texts, ranks_->gather(to_json(describe(tensors), remarks).dump()));
  for (const std::string& text : texts) {
    HEADROOM_TRY(const Json part, parse_json(text));
    parts.of_ranks.push_back(entries_of(part));
    for (const auto& [key, value] : part.at("remarks").items())
      parts.remarks[key] = value.get<std::string>();
  }
  return parts;
}

Status TensorWriter::give(const Parts& parts, const std::vector<NamedTensor>& tensors,
                          const TensorSink& sink) const {
  for (std::uint32_t rank = 0; rank < parts.of_ranks.size(); ++rank) {
    const bool is_own = rank == ranks_->rank();
    for (std::size_t i = 0; i < parts.of_ranks[rank].size(); ++i) {
      const std::uint64_t bytes = parts.of_ranks[rank][i].entry.bytes;
      const at::Tensor here = is_own ? tensors[i].tensor.cpu() : at::Tensor();
      const void* own = is_own ? here.data_ptr() : nullptr;
      if (rank == writer) {  // It has them.
        if (is_own) HEADROOM_CHECK(sink(own, bytes));
        continue;
      }
      HEADROOM_CHECK(ranks_->spread(rank, static_cast<const std::byte*>(own), bytes, sink));
    }
  }
  return Done{};
}

Status TensorWriter::write(const std::string& path, const std::vector<NamedTensor>& tensors,
                           const Remarks& remarks,
                           const std::function<std::string(std::string header)>& finish) const {
  if (ranks_ == nullptr)
    return writes_ ? write_safetensors(path, tensors, remarks, finish) : Status(Done{});
  HEADROOM_TRY(const Parts parts, agree(tensors, remarks));
  if (!writes_)
    return give(parts, tensors, [](const void*, std::size_t) -> Status { return Done{}; });
  std::vector<estimate::NamedSafetensor> all;
  for (const auto& part : parts.of_ranks) all.insert(all.end(), part.begin(), part.end());
  return write_safetensors(path, std::move(all), parts.remarks, finish,
                           [&](const TensorSink& sink) { return give(parts, tensors, sink); });
}

}  // namespace headroom::trainer
