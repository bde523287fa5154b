// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "trainer/data/samples.h"

namespace headroom::trainer::data {

std::uint64_t count_tokens(const Samples& samples) {
  std::uint64_t tokens = 0;
  for (const Sample& sample : samples) tokens += sample.size();
  return tokens;
}

Status add_token_samples(std::string_view text, const std::string& name, TokenFormat format,
                         Samples& samples) {
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    Sample sample;
    for (const std::string_view word : split_words(line)) {
      const auto id = parse_u64(word);
      if (!id || *id >= format.vocabulary) {
        return Error{Errc::invalid,
                     fmt::format("{}, line {}: expected token ids from 0 to {}, found \"{}\"", name,
                                 number, format.vocabulary - 1, word.substr(0, 40)),
                     "tokenise the data with the model's own tokenizer, or write kind = \"text\" "
                     "for plain text"};
      }
      if (sample.size() < format.longest) sample.push_back(static_cast<std::int32_t>(*id));
    }
    if (sample.size() >= 2) samples.push_back(std::move(sample));
  }
  return Done{};
}

}  // namespace headroom::trainer::data
