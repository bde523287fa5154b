// SPDX-License-Identifier: Apache-2.0
#include "tokens/npy_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace headroom::tokens {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr const char* save_again =
    "save it again: numpy.save(\"tokens.npy\", numpy.ascontiguousarray(tokens, dtype=\"<u4\"))";

Error not_readable(const std::string& what) {
  return {Errc::invalid, what, save_again};
}

struct Header {
  std::string type;  // As NumPy spells it: "<u2".
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Reads {'descr': '<u2', 'fortran_order': False, 'shape': (3, 4), }, with the keys in any order.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Result<Header> read() {
    if (!take('{')) return wrong("a dictionary");
    while (!take('}')) {
      HEADROOM_TRY(const std::string key, read_text());
      if (!take(':')) return wrong("a colon behind '" + key + "'");
      HEADROOM_CHECK(read_value(key));
      keys_.insert(key);
      if (take(',')) continue;
      if (take('}')) break;
      return wrong("a comma or the end of the dictionary");
    }
    skip_blanks();
    if (next_ != text_.size()) return wrong("nothing behind the dictionary");
    for (const char* key : {"descr", "fortran_order", "shape"}) {
      if (keys_.count(key) == 0)
        return not_readable(fmt::format("expected the key '{}' in the header", key));
    }
    return header_;
  }

 private:
  void skip_blanks() {
    while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\n')) ++next_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (next_ >= text_.size() || text_[next_] != wanted) return false;
    ++next_;
    return true;
  }

  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.substr(next_).starts_with(word)) return false;
    next_ += word.size();
    return true;
  }

  Error wrong(const std::string& expected) const {
    constexpr std::size_t shown = 24;
    std::string rest;
    for (const char c : text_.substr(next_, shown)) rest += c >= ' ' && c < '\x7f' ? c : '?';
    return not_readable(
        fmt::format("expected {} at byte {} of the header, found \"{}\"", expected, next_, rest));
  }

  Result<std::string> read_text() {
    skip_blanks();
    const char quote = next_ < text_.size() ? text_[next_] : ' ';
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, next_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) return wrong("a text in quotes");
    std::string text(text_.substr(next_ + 1, end - next_ - 1));
    if (text.find('\\') != std::string::npos) return wrong("a text without escapes");
    next_ = end + 1;
    return text;
  }

  Result<std::uint64_t> read_number() {
    skip_blanks();
    const std::size_t first = next_;
    std::uint64_t number = 0;
    while (next_ < text_.size() && text_[next_] >= '0' && text_[next_] <= '9') {
      const auto digit = static_cast<std::uint64_t>(text_[next_] - '0');
      if (number > (std::numeric_limits<std::uint64_t>::max() - digit) / 10)
        return wrong("a size below 2^64");
      number = number * 10 + digit;
      ++next_;
    }
    if (next_ == first) return wrong("a size");
    if (next_ < text_.size() && text_[next_] == 'L') ++next_;  // Python 2 wrote long numbers so.
    return number;
  }

  Status read_shape() {
    if (!take('(')) return wrong("the shape in parentheses");
    std::vector<std::uint64_t> shape;
    while (!take(')')) {
      HEADROOM_TRY(const std::uint64_t size, read_number());
      shape.push_back(size);
      if (take(',')) continue;
      if (take(')')) break;
      return wrong("a comma or the end of the shape");
    }
    header_.shape = std::move(shape);
    return Done{};
  }

  Status read_value(const std::string& key) {
    if (key == "shape") return read_shape();
    if (key == "fortran_order") {
      if (take("True")) {
        header_.fortran_order = true;
      } else if (take("False")) {
        header_.fortran_order = false;
      } else {
        return wrong("True or False");
      }
      return Done{};
    }
    if (key != "descr")
      return wrong(
          fmt::format("one of descr, fortran_order and shape in front, not '{:.24}'", key));
    skip_blanks();
    if (next_ < text_.size() && text_[next_] == '[')
      return Error{Errc::unsupported,
                   "expected an array of whole numbers, found one with fields (a structured dtype)",
                   "save the field with the tokens alone: numpy.save(\"tokens.npy\", "
                   "array[\"tokens\"])"};
    HEADROOM_TRY(header_.type, read_text());
    return Done{};
  }

  std::string_view text_;
  std::size_t next_ = 0;
  std::set<std::string> keys_;  // That were there.
  Header header_;
};

Result<TokenType> find_type(const std::string& type) {
  constexpr std::array<std::pair<std::string_view, TokenType>, 4> known = {
      {{"<u2", TokenType::uint16},
       {"<u4", TokenType::uint32},
       {"<i4", TokenType::int32},
       {"<i8", TokenType::int64}}};
  for (const auto& [name, found] : known) {
    if (name == type) return found;
  }
  std::string what = fmt::format("'{:.24}'", type);
  if (type.starts_with('>')) what += ", which is big-endian";
  if (type == "|O") what += ", which is pickled Python objects; they are never loaded";
  return Error{Errc::unsupported,
               "expected uint16, uint32, int32 or int64, little-endian, found the type " + what,
               save_again};
}

// The bytes of an array; nothing if they are 2^64 or more.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape, std::uint64_t size) {
  std::uint64_t bytes = size;
  for (const std::uint64_t side : shape) {
    if (side != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / side) return std::nullopt;
    bytes *= side;
  }
  return bytes;
}

// How long the dictionary is, and where it begins.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

Result<Extent> find_header(std::string_view beginning) {
  constexpr std::size_t version_at = 6;
  constexpr std::size_t length_at = 8;
  if (!beginning.starts_with(magic))
    return not_readable("expected a .npy file, which begins with \\x93NUMPY, found another");
  const auto byte = [&](std::size_t place) -> std::uint64_t {
    return place < beginning.size() ? static_cast<unsigned char>(beginning[place]) : 0;
  };
  const std::uint64_t major = byte(version_at);
  const std::uint64_t minor = byte(version_at + 1);
  if (beginning.size() > length_at && (major < 1 || major > 3 || minor != 0))
    return Error{Errc::unsupported,
                 fmt::format("expected version 1.0, 2.0 or 3.0 of .npy, found {}.{}", major, minor),
                 save_again};
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  Extent extent{length_at + length_bytes, 0};
  if (beginning.size() < extent.begin)
    return not_readable("expected the header of a .npy file, found the file's end");
  for (std::size_t i = 0; i < length_bytes; ++i) extent.bytes |= byte(length_at + i) << (8 * i);
  if (extent.bytes > largest_npy_header_bytes)
    return not_readable(fmt::format("expected a header of at most {} bytes, found {}",
                                    largest_npy_header_bytes, extent.bytes));
  return extent;
}

}  // namespace

Result<TokenLayout> read_npy_layout(const RandomAccess& file) {
  std::array<char, 12> buffer{};
  HEADROOM_TRY(const std::size_t filled, file.read_at(0, buffer));
  HEADROOM_TRY(const Extent extent, find_header({buffer.data(), filled}));
  std::string text(extent.bytes, '\0');
  HEADROOM_TRY(const std::size_t text_filled, file.read_at(extent.begin, text));
  if (text_filled < text.size())
    return not_readable(fmt::format("expected a header of {} bytes, found the file's end after {}",
                                    text.size(), text_filled));
  HEADROOM_TRY(const Header header, HeaderReader(text).read());
  TokenLayout layout;
  HEADROOM_TRY(layout.type, find_type(header.type));
  const std::vector<std::uint64_t>& shape = header.shape;
  if (header.fortran_order)
    return Error{Errc::unsupported, "expected C's order, found Fortran's: columns lie one by one",
                 save_again};
  if (shape.empty() || shape.size() > 2)
    return Error{Errc::unsupported,
                 fmt::format("expected one dimension, a stream of tokens, or two, rows of them; "
                             "found the shape ({})",
                             fmt::join(shape, ", ")),
                 save_again};
  layout.offset = extent.begin + extent.bytes;
  const std::uint64_t found = file.size() - layout.offset;
  const auto expected = bytes_of(shape, size_of(layout.type));
  if (expected != found)
    return not_readable(fmt::format(
        "expected {} bytes behind the header, as its shape ({}) says, found {}",
        expected ? fmt::format("{}", *expected) : "2^64 or more", fmt::join(shape, ", "), found));
  layout.count = found / size_of(layout.type);
  if (layout.count > 0 && shape.size() == 2) layout.columns = shape[1];
  return layout;
}

}  // namespace headroom::tokens
