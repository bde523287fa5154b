// SPDX-License-Identifier: Apache-2.0
#include "plan/fixes/quadlet_lines.h"

#include "base/text.h"

namespace headroom::plan {
namespace {

std::string_view key_of(std::string_view line) {
  line = trim(line);
  if (line.starts_with('#') || line.starts_with(';')) return {};
  const std::size_t equals = line.find('=');
  return equals == std::string_view::npos ? std::string_view() : trim(line.substr(0, equals));
}

bool has_line(std::string_view text, std::string_view key, std::string_view part) {
  for (const std::string_view line : split_lines(text)) {
    if (key_of(line) == key && line.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

bool passes_gpu(std::string_view quadlet) {
  return has_line(quadlet, "AddDevice", "/dev/kfd") || has_line(quadlet, "AddDevice", "/dev/dri") ||
         has_line(quadlet, "AddDevice", "amd.com/gpu") ||
         has_line(quadlet, "PodmanArgs", "/dev/kfd");
}

bool keeps_groups(std::string_view quadlet) {
  return has_container_option(quadlet, "GroupAdd", "--group-add") ||
         has_line(quadlet, "Annotation", "run.oci.keep_original_groups=1");
}

bool has_container_option(std::string_view quadlet, std::string_view key, std::string_view option) {
  return has_line(quadlet, key, "=") || has_line(quadlet, "PodmanArgs", option);
}

std::string add_container_line(std::string_view quadlet, std::string_view line) {
  bool inside = false;
  std::size_t behind = std::string_view::npos;  // Of the section's last line that says something.
  bool continued = false;
  for (std::size_t at = 0; at < quadlet.size();) {
    const std::size_t next = std::min(quadlet.find('\n', at), quadlet.size());
    const std::string_view content = trim(quadlet.substr(at, next - at));
    if (content.starts_with('[') && !continued) inside = content == "[Container]";
    if (inside && !content.empty()) behind = std::min(next + 1, quadlet.size());
    continued = content.ends_with('\\');
    at = next + 1;
  }
  std::string text(quadlet);
  if (behind == std::string_view::npos) {
    behind = text.size();
    if (!text.empty() && text.back() != '\n') text += '\n', ++behind;
    return text + "[Container]\n" + std::string(line) + "\n";
  }
  const bool ended = behind > 0 && text[behind - 1] == '\n';
  return text.substr(0, behind) + (ended ? "" : "\n") + std::string(line) + "\n" +
         text.substr(behind);
}

}  // namespace headroom::plan
