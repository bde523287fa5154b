// SPDX-License-Identifier: Apache-2.0
#include "facts/wsl.h"

#include <algorithm>

#include "base/text.h"

namespace headroom::facts {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view to_string(WslKind kind) {
  switch (kind) {
    case WslKind::wsl1:
      return "wsl1";
    case WslKind::wsl2:
      return "wsl2";
    case WslKind::none:
      break;
  }
  return "none";
}

std::string_view to_string(DxgRoute route) {
  switch (route) {
    case DxgRoute::rocdxg:
      return "by librocdxg.so";
    case DxgRoute::built_in:
      return "by libdxcore.so";
    case DxgRoute::none:
      break;
  }
  return "none: it knows /dev/kfd alone";
}

WslKind wsl_kind_of(std::string_view kernel) {
  const std::string lower = to_lower(kernel);
  if (contains(lower, "microsoft-standard") || contains(lower, "wsl2")) return WslKind::wsl2;
  if (!contains(lower, "microsoft")) return WslKind::none;
  return lower.starts_with("4.4.") ? WslKind::wsl1 : WslKind::wsl2;
}

DxgRoute find_dxg_route(std::string_view library) {
  // Short names may be split by the compiler; that of the device is passed to open() and stays.
  if (contains(library, "libdxcore.so")) return DxgRoute::built_in;
  const bool knows = contains(library, "/dev/dxg") || contains(library, "librocdxg") ||
                     contains(library, "HSA_ENABLE_DXG_DETECTION");
  return knows ? DxgRoute::rocdxg : DxgRoute::none;
}

Text parse_driver_version(const Text& inf) {
  if (!inf) return inf;
  std::string text = *inf;
  std::erase(text, '\0');  // UTF-16 of what is plain ASCII.
  const Source& source = inf.source();
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::string_view word = trim(line);
    if (!to_lower(word.substr(0, 9)).starts_with("driverver")) continue;
    const std::size_t comma = word.find(',');
    const std::string_view version =
        comma == std::string_view::npos ? "" : trim(word.substr(comma + 1));
    const std::size_t end = version.find_first_not_of("0123456789.");
    const std::string_view digits = version.substr(0, end);
    const Source line_source{source.path, number, std::string(word)};
    if (digits.empty()) return {Missing{Why::not_understood, std::string(word)}, line_source};
    return {std::string(digits), line_source};
  }
  return {Missing{Why::not_present, "no line DriverVer"}, source};
}

bool is_amd_display_driver(std::string_view folder) {
  if (!folder.starts_with("u0") && !folder.starts_with("c0")) return false;
  const std::size_t dot = folder.find(".inf_amd64_");
  if (dot == std::string_view::npos || dot < 6) return false;
  const std::string_view number = folder.substr(1, dot - 1);
  return std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace headroom::facts
