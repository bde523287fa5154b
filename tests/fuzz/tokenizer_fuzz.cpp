// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json, up to a line break the first of it, and what it makes of the rest as text and
// as a line of training data.
#include "fuzz.h"
#include "tokens/sample_reader.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const std::string_view all = fuzz::to_text(data, size);
  const std::size_t border = std::min(all.size(), all.find('\n'));
  const std::string_view text = all.substr(std::min(all.size(), border + 1));
  auto tokenizer = tokens::Tokenizer::parse(all.substr(0, border), "tokenizer.json");
  if (!tokenizer) {
    fuzz::require(!tokenizer.error().message.empty() && !tokenizer.error().next.empty());
    return 0;
  }
  std::vector<tokens::Id> ids;
  if (const auto status = tokenizer->encode(text, tokens::Around::special_tokens, ids); !status)
    fuzz::require(!status.error().message.empty() && !status.error().next.empty());
  const auto decoded = tokenizer->decode(ids, false);
  if (!decoded) fuzz::require(!decoded.error().message.empty());
  tokens::TokenEncoder encoder(*std::move(tokenizer), 0);
  tokens::SampleReader reader(encoder, tokens::recognise_template(encoder), {64, 1000});
  tokens::TokenSamples samples;
  const MemoryBytes bytes(text);
  for (const auto& status :
       {reader.add_records(bytes, "f", samples), reader.add_text(bytes, "f", samples)})
    if (!status) fuzz::require(!status.error().message.empty() && !status.error().next.empty());
  for (const auto& sample : samples) {
    fuzz::require(sample.size() >= 2 && sample.size() <= 64);
    for (const tokens::Id token : sample) fuzz::require(tokens::id_of(token) < 1000);
  }
  return 0;
}
