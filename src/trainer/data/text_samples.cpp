// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "trainer/data/samples.h"

namespace headroom::trainer::data {
namespace {

// The paragraphs of a text without the blank lines between them; "\r\n" counts as "\n".
std::vector<std::string> split_paragraphs(std::string_view text) {
  std::vector<std::string> paragraphs;
  bool open = false;
  for (const std::string_view line : split_lines(text)) {
    if (trim(line).empty()) {
      open = false;
      continue;
    }
    if (open) {
      paragraphs.back() += '\n';
    } else {
      paragraphs.emplace_back();
    }
    paragraphs.back() += line;
    open = true;
  }
  return paragraphs;
}

void add_sample(std::string_view bytes, Samples& samples) {
  if (bytes.empty()) return;
  Sample& sample = samples.emplace_back();
  sample.reserve(bytes.size() + 1);
  for (const char byte : bytes) sample.push_back(static_cast<unsigned char>(byte));
  sample.push_back(end_of_sample);
}

}  // namespace

void add_text_samples(std::string_view text, std::uint64_t longest, Samples& samples) {
  constexpr std::string_view separator = "\n\n";
  const std::uint64_t room = longest - 1;  // One for end_of_sample.
  std::string packed;
  for (const std::string& paragraph : split_paragraphs(text)) {
    if (!packed.empty() && packed.size() + separator.size() + paragraph.size() > room) {
      add_sample(packed, samples);
      packed.clear();
    }
    if (!packed.empty()) packed += separator;
    packed += paragraph;
    while (packed.size() > room) {
      add_sample(std::string_view(packed).substr(0, room), samples);
      packed.erase(0, room);
    }
  }
  add_sample(packed, samples);
}

}  // namespace headroom::trainer::data
