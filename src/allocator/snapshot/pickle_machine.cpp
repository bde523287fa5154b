// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/pickle_machine.h"

#include <fmt/format.h>

#include <bit>

#include "allocator/snapshot/pickle_escapes.h"
#include "base/text.h"

namespace headroom::allocator {
namespace {

constexpr unsigned highest_protocol = 5;

// The codes are those of CPython's Lib/pickletools.py.
namespace code {
constexpr unsigned char proto = 0x80;
constexpr unsigned char stop = '.';
}  // namespace code

// Names an instruction that is not data, for the message that refuses it.
std::string_view refused_name(unsigned char code) {
  switch (code) {
    case 'c':
      return "GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x81:
      return "NEWOBJ";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    case 0x92:
      return "NEWOBJ_EX";
    case 0x93:
      return "STACK_GLOBAL";
    default:
      return "";
  }
}

// Names instructions for sets and external buffers, which are data, but which no snapshot has.
std::string_view foreign_name(unsigned char code) {
  switch (code) {
    case 0x8f:
      return "EMPTY_SET";
    case 0x90:
      return "ADDITEMS";
    case 0x91:
      return "FROZENSET";
    case 0x97:
      return "NEXT_BUFFER";
    case 0x98:
      return "READONLY_BUFFER";
    default:
      return "";
  }
}

}  // namespace

Result<Pickle> PickleMachine::run() {
  while (!error_) {
    instruction_ = at_;
    const auto instruction = static_cast<unsigned char>(number(1));
    if (error_) break;
    if (instruction == code::stop) {
      if (!has(1)) break;
      if (!marks_.empty()) {
        fail("the pickle ends inside a list, tuple or dict");
        break;
      }
      made_.root_ = stack_.back();
      return std::move(made_);
    }
    if (run_constant(instruction) || run_text(instruction) || run_container(instruction) ||
        run_stack(instruction) || run_line(instruction))
      continue;
    if (const auto name = refused_name(instruction); !name.empty()) {
      fail(
          fmt::format("the instruction {} would import or build a Python object; a memory snapshot "
                      "is plain data. Nothing was executed",
                      name),
          "make the file with torch.cuda.memory._dump_snapshot(\"FILE.pickle\"), and do not load "
          "this one with Python unless you trust it");
    } else if (const auto foreign = foreign_name(instruction); !foreign.empty()) {
      fail(fmt::format("{} makes something that a memory snapshot does not have", foreign));
    } else {
      fail(fmt::format("0x{:02x} is no instruction of a pickle", instruction));
    }
  }
  return *std::move(error_);
}

bool PickleMachine::run_constant(unsigned char instruction) {
  switch (instruction) {
    case code::proto:
      if (const auto version = number(1); version > highest_protocol)
        fail(fmt::format("protocol {} is newer than {}, the newest that is known", version,
                         highest_protocol));
      return true;
    case 0x95:  // FRAME: how many bytes follow, for readers that read in pieces.
      number(8);
      return true;
    case 'N':
      push({PickleKind::none, 0});
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push({PickleKind::boolean, instruction == 0x88 ? 1U : 0U});
      return true;
    case 'J': {  // BININT
      const auto bits = static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4)));
      const auto wide = static_cast<std::int64_t>(bits);
      push_integer(wide < 0, static_cast<std::uint64_t>(wide < 0 ? ~wide : wide));
      return true;
    }
    case 'K':  // BININT1
      push_integer(false, number(1));
      return true;
    case 'M':  // BININT2
      push_integer(false, number(2));
      return true;
    case 0x8a:  // LONG1
      push_long(take(number(1)));
      return true;
    case 0x8b:  // LONG4
      push_long(take(number(4)));
      return true;
    case 'G': {  // BINFLOAT: big-endian, unlike all others.
      std::uint64_t bits = 0;
      for (const char byte : take(8)) bits = bits << 8U | static_cast<unsigned char>(byte);
      push_real(std::bit_cast<double>(bits));
      return true;
    }
    default:
      return false;
  }
}

bool PickleMachine::run_text(unsigned char instruction) {
  switch (instruction) {
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
      push_text(PickleKind::text, take(number(1)));
      return true;
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
      push_text(PickleKind::text, take(number(4)));
      return true;
    case 0x8d:  // BINUNICODE8
      push_text(PickleKind::text, take(number(8)));
      return true;
    case 'C':  // SHORT_BINBYTES
      push_text(PickleKind::bytes, take(number(1)));
      return true;
    case 'B':  // BINBYTES
      push_text(PickleKind::bytes, take(number(4)));
      return true;
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push_text(PickleKind::bytes, take(number(8)));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::run_line(unsigned char instruction) {
  switch (instruction) {
    case 'F': {  // FLOAT
      const auto value = parse_double(line());
      if (!value && !error_) fail("FLOAT is followed by no number");
      push_real(value.value_or(0));
      return true;
    }
    case 'I': {  // INT, with which protocols 0 and 1 also write True and False.
      const std::string_view digits = line();
      if (digits == "00" || digits == "01") {
        push({PickleKind::boolean, digits == "01" ? 1U : 0U});
      } else {
        push_decimal(digits);
      }
      return true;
    }
    case 'L': {  // LONG
      std::string_view digits = line();
      if (digits.ends_with('L')) digits.remove_suffix(1);
      push_decimal(digits);
      return true;
    }
    case 'S':  // STRING
      push_unescaped(unescape_literal(line()));
      return true;
    case 'V':  // UNICODE
      push_unescaped(unescape_unicode(line()));
      return true;
    case 'p':    // PUT
    case 'g': {  // GET
      const auto place = parse_u64(line());
      if (error_) return true;
      if (!place) {
        fail("PUT or GET is followed by no number");
      } else if (instruction == 'p') {
        memoize(*place);
      } else {
        recall(*place);
      }
      return true;
    }
    default:
      return false;
  }
}

void PickleMachine::fail(std::string what, std::string next) {
  if (error_) return;
  if (next.empty())
    next =
        "copy the file again, in binary; torch.cuda.memory._dump_snapshot(\"FILE.pickle\") writes "
        "it";
  error_ = Error{Errc::invalid, fmt::format("byte {}: {}", instruction_, what), std::move(next)};
}

std::uint64_t PickleMachine::number(unsigned bytes) {
  std::uint64_t value = 0;
  const std::string_view text = take(bytes);
  for (std::size_t i = text.size(); i > 0; --i)
    value = value << 8U | static_cast<unsigned char>(text[i - 1]);
  return value;
}

std::string_view PickleMachine::take(std::uint64_t bytes) {
  if (error_) return {};
  if (bytes > text_.size() - at_) {
    fail(fmt::format("the file ends at byte {}, in the middle of an instruction or of its text",
                     text_.size()));
    return {};
  }
  const std::string_view taken = text_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

std::string_view PickleMachine::line() {
  const std::size_t end = text_.find('\n', at_);
  if (end == std::string_view::npos) {
    take(text_.size() - at_ + 1);
    return {};
  }
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end + 1;
  return found;
}

Result<Pickle> parse_pickle(std::string_view text) {
  return PickleMachine(text).run();
}

}  // namespace headroom::allocator
