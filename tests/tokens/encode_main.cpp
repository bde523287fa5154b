// SPDX-License-Identifier: Apache-2.0
// For tools/tokens.py: every line of standard input is a JSON string, every line of standard output
// the ids that headroom-train has for it, with and without the tokens around a text, and the text
// that the former stand for.
//
//     encode_tokens TOKENIZER.json < TEXTS > IDS
//     encode_tokens TOKENIZER.json FILE      encodes the file by pieces of 1 MiB and says how fast
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "base/document.h"
#include "base/json_text.h"
#include "tokens/tokenizer.h"

namespace headroom {
namespace {

std::string read_all(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Json encode(tokens::Tokenizer& tokenizer, const std::string& text) {
  std::vector<tokens::Id> ids, plain;
  const auto status = tokenizer.encode(text, tokens::Around::special_tokens, ids);
  if (!status) return {{"error", status.error().message}};
  if (const auto again = tokenizer.encode(text, tokens::Around::nothing, plain); !again)
    return {{"error", again.error().message}};
  const auto decoded = tokenizer.decode(ids, true);
  return {{"ids", ids}, {"plain", plain}, {"text", decoded ? *decoded : decoded.error().message}};
}

int measure(tokens::Tokenizer& tokenizer, const std::string& text) {
  constexpr std::size_t piece = std::size_t{1} << 20U;
  std::vector<tokens::Id> ids;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.size(), at + piece);
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) ++end;
    if (!tokenizer.encode(std::string_view(text).substr(at, end - at), tokens::Around::nothing,
                          ids))
      return 1;
    at = end;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::cout << text.size() << " bytes, " << ids.size() << " tokens, "
            << static_cast<double>(text.size()) / 1e6 / taken.count() << " MB/s\n";
  return 0;
}

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  auto tokenizer = tokens::Tokenizer::parse(read_all(argv[1]), argv[1]);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << "\n" << tokenizer.error().next << "\n";
    return 1;
  }
  if (argc > 2) return measure(*tokenizer, read_all(argv[2]));
  for (std::string line; std::getline(std::cin, line);) {
    const auto text = parse_json(line);
    if (!text || !text->is_string()) return 2;
    std::cout << to_json_text(encode(*tokenizer, text->get<std::string>())) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  return headroom::run(argc, argv);
}
