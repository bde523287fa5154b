// SPDX-License-Identifier: Apache-2.0
// A tokenizer.model, up to a 0xff that two line breaks follow; the rest is the
// tokenizer_config.json beside it, and the text for it.
#include "fuzz.h"
#include "tokens/sentencepiece/piece_encoder.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const std::string_view all = fuzz::to_text(data, size);
  constexpr std::string_view border = "\xff\n\n";
  const std::size_t end = std::min(all.size(), all.find(border));
  const std::string_view rest = all.substr(std::min(all.size(), end + border.size()));
  tokens::SettingsFiles files;
  for (const bool has_config : {false, true}) {
    files.texts[0] = has_config ? std::string(rest) : std::string();
    auto encoder = tokens::PieceEncoder::make(all.substr(0, end), "m", files, std::nullopt);
    if (!encoder) {
      fuzz::require(!encoder.error().message.empty() && !encoder.error().next.empty());
      continue;
    }
    for (const std::string_view text : {rest, std::string_view("a b  the\t<s>\u00e9\u2581")})
      for (const auto around : {tokens::Around::special_tokens, tokens::Around::text_before}) {
        std::vector<tokens::Id> ids;
        const auto status = encoder->encode(text, around, ids);
        if (!status) fuzz::require(!status.error().message.empty() && !status.error().next.empty());
        for (const tokens::Id id : ids)
          fuzz::require(id >= 0 && static_cast<std::uint64_t>(id) < tokens::Vocabulary::most_ids);
      }
  }
  return 0;
}
