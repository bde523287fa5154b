// SPDX-License-Identifier: Apache-2.0
#include "tokens/token_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace headroom::tokens {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are copied as they lie");

constexpr std::uint64_t header_bytes = 1024;

struct Magic {
  std::uint32_t number;
  std::uint32_t version;
  TokenType type;
};
constexpr std::array<Magic, 2> magics = {
    {{20240520, 1, TokenType::uint16}, {20240801, 7, TokenType::uint32}}};

template <class Number>
Number load(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

// The numbers are compared all together first, which takes few instructions.
template <class Number>
std::optional<Misfit> decode(std::string_view bytes, std::uint64_t vocabulary, std::span<Id> ids) {
  bool fits = true;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto number = load<Number>(bytes.data() + i * sizeof(Number));
    // A negative one is above every vocabulary.
    fits &= static_cast<std::uint64_t>(number) < vocabulary;
    ids[i] = static_cast<Id>(number);
  }
  if (fits) return std::nullopt;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto number = load<Number>(bytes.data() + i * sizeof(Number));
    if (static_cast<std::uint64_t>(number) >= vocabulary)
      return Misfit{i, static_cast<std::int64_t>(number)};
  }
  return std::nullopt;
}

Result<TokenLayout> read_llm_c_header(const Magic& magic, std::string_view header,
                                      std::uint64_t file_bytes, const BinHints& hints) {
  const std::string again = "write the file again with llm.c's data scripts";
  const auto version = load<std::uint32_t>(header.data() + 4);
  if (version != magic.version)
    return Error{Errc::unsupported,
                 fmt::format("expected version {} behind llm.c's magic number {}, found {}",
                             magic.version, magic.number, version),
                 again};
  if (header.size() < header_bytes)
    return Error{Errc::invalid,
                 fmt::format("expected llm.c's header of {} bytes, found the end of the file after "
                             "{}",
                             header_bytes, header.size()),
                 again};
  if (hints.type && *hints.type != magic.type)
    return Error{Errc::invalid,
                 fmt::format("data.dtype: expected \"{}\", as llm.c's header says, found \"{}\"",
                             to_string(magic.type), to_string(*hints.type)),
                 "leave data.dtype out"};
  const auto count = load<std::int32_t>(header.data() + 8);
  const std::uint64_t found = file_bytes - header_bytes;
  if (count < 0 || static_cast<std::uint64_t>(count) * size_of(magic.type) != found)
    return Error{Errc::invalid,
                 fmt::format("expected {} tokens of {} bytes, as llm.c's header says, found {} "
                             "bytes behind it",
                             count, size_of(magic.type), found),
                 again};
  return TokenLayout{
      .type = magic.type, .offset = header_bytes, .count = static_cast<std::uint64_t>(count)};
}

}  // namespace

std::uint64_t size_of(TokenType type) {
  if (type == TokenType::uint16) return 2;
  return type == TokenType::int64 ? 8 : 4;
}

std::string_view to_string(TokenType type) {
  constexpr std::array<std::string_view, 4> names = {"uint16", "uint32", "int32", "int64"};
  return names[static_cast<std::size_t>(type)];
}

Result<TokenLayout> read_bin_layout(const RandomAccess& file, const BinHints& hints) {
  std::array<char, header_bytes> buffer{};
  HEADROOM_TRY(const std::size_t filled, file.read_at(0, buffer));
  const std::string_view beginning(buffer.data(), filled);
  constexpr std::size_t magic_and_version = 8;
  if (filled >= magic_and_version) {
    for (const Magic& magic : magics) {
      if (load<std::uint32_t>(beginning.data()) == magic.number)
        return read_llm_c_header(magic, beginning, file.size(), hints);
    }
  }
  constexpr std::uint64_t ids_of_uint16 = std::numeric_limits<std::uint16_t>::max() + 1U;
  TokenLayout layout;
  layout.source = hints.type ? TokenLayout::Source::job : TokenLayout::Source::vocabulary;
  layout.type = hints.type.value_or(hints.vocabulary <= ids_of_uint16 ? TokenType::uint16
                                                                      : TokenType::uint32);
  const std::uint64_t size = size_of(layout.type);
  layout.count = file.size() / size;
  if (file.size() % size == 0) return layout;
  return Error{Errc::invalid,
               fmt::format("expected {} tokens of {} bytes each, found {} bytes, {} too many",
                           to_string(layout.type), size, file.size(), file.size() % size),
               "make sure that the file was written to its end; if its tokens are of another type, "
               "say which: dtype = \"uint16\" or \"uint32\" under [data]"};
}

bool looks_wider(const TokenLayout& layout, std::uint64_t any_odd) {
  constexpr std::uint64_t enough = 16;
  return layout.source == TokenLayout::Source::vocabulary && layout.type == TokenType::uint16 &&
         layout.count >= enough && any_odd == 0;
}

std::optional<Misfit> decode_tokens(TokenType type, std::string_view bytes,
                                    std::uint64_t vocabulary, std::span<Id> ids) {
  switch (type) {
    case TokenType::uint16:
      return decode<std::uint16_t>(bytes, vocabulary, ids);
    case TokenType::uint32:
      return decode<std::uint32_t>(bytes, vocabulary, ids);
    case TokenType::int32:
      return decode<std::int32_t>(bytes, vocabulary, ids);
    case TokenType::int64:
      return decode<std::int64_t>(bytes, vocabulary, ids);
  }
  return std::nullopt;
}

}  // namespace headroom::tokens
