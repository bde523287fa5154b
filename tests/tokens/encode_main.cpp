// SPDX-License-Identifier: Apache-2.0
// For tools/tokens.py: every line of standard input is a JSON string, every line of standard output
// the ids that headroom-train has for it, with and without the tokens around a text, and the text
// that the former stand for.
//
//     encode_tokens TOKENIZER.json < TEXTS > IDS
//     encode_tokens TOKENIZER.json FILE      encodes the file by pieces of 1 MiB and says how fast
//
// In place of TOKENIZER.json a tokenizer.model, with the files beside it; it gives no text back.
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <type_traits>

#include "base/document.h"
#include "base/json_text.h"
#include "tokens/sentencepiece/piece_encoder.h"
#include "tokens/tokenizer.h"

namespace headroom {
namespace {

std::string read_all(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Either of the two; decode() is there for a tokenizer.json alone.
template <class Encoder>
Json encode(Encoder& tokenizer, const std::string& text) {
  std::vector<tokens::Id> ids, plain;
  const auto status = tokenizer.encode(text, tokens::Around::special_tokens, ids);
  if (!status) return {{"error", status.error().message}};
  if (const auto again = tokenizer.encode(text, tokens::Around::nothing, plain); !again)
    return {{"error", again.error().message}};
  Json line = {{"ids", ids}, {"plain", plain}};
  if constexpr (std::is_same_v<Encoder, tokens::Tokenizer>) {
    const auto decoded = tokenizer.decode(ids, true);
    line["text"] = decoded ? *decoded : decoded.error().message;
  }
  return line;
}

template <class Encoder>
int measure(Encoder& tokenizer, const std::string& text) {
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

template <class Encoder>
int answer(Result<Encoder> tokenizer, int argc, char** argv) {
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

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string path = argv[1];
  if (!path.ends_with(".model"))
    return answer(tokens::Tokenizer::parse(read_all(argv[1]), path), argc, argv);
  tokens::SettingsFiles files;
  files.folder = path.substr(0, path.rfind('/') + 1);
  for (std::size_t i = 0; i < files.names.size(); ++i)
    files.texts[i] = read_all((files.folder + files.names[i]).c_str());
  return answer(tokens::PieceEncoder::make(read_all(argv[1]), path, files, std::nullopt), argc,
                argv);
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  return headroom::run(argc, argv);
}
