// SPDX-License-Identifier: Apache-2.0
#include "capture/write_recording.h"

#include <set>
#include <string>

#include "base/document.h"
#include "base/version.h"

namespace headroom::capture {
namespace {

using machine::Recording;

// The folders that anything lies in: such a path is a folder, whatever else was seen of it.
std::set<std::string> find_parents(const Recording& recording) {
  std::set<std::string> parents;
  const auto add = [&](const std::string& path) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
      if (!parents.insert(path.substr(0, slash)).second) return;
    }
  };
  for (const auto& [path, bytes] : recording.files) add(path);
  for (const auto& [path, target] : recording.links) add(path);
  for (const std::string& path : recording.stand_ins) add(path);
  for (const std::string& path : recording.folders) add(path);
  return parents;
}

Json make_manifest(const Recording& recording, const redact::Counts& counts) {
  Json manifest = to_manifest(recording);
  manifest["schema"] = "headroom.machine/1";
  manifest["about"] =
      std::string("What headroom check reads of one machine, recorded by headroom capture ") +
      program_version() +
      ", without serial numbers, names and secrets. headroom check --root reads it.";
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    manifest["redacted"][std::string(to_string(static_cast<redact::Kind>(kind)))] = counts[kind];
  }
  return manifest;
}

}  // namespace

Result<Written> write_recording(const Recording& recording, const redact::Counts& counts,
                                machine::TreeWriter& writer) {
  Written written;
  const std::set<std::string> parents = find_parents(recording);
  std::set<std::string> taken = parents;
  for (const std::string& path : parents) HEADROOM_CHECK(writer.folder(path));
  for (const auto& [path, target] : recording.links) {
    if (!taken.insert(path).second) continue;
    HEADROOM_CHECK(writer.link(path, target));
    ++written.links;
  }
  for (const std::string& path : recording.folders) {
    if (taken.insert(path).second) HEADROOM_CHECK(writer.folder(path));
  }
  for (const auto& [path, bytes] : recording.files) {
    if (!taken.insert(path).second) continue;
    HEADROOM_CHECK(writer.file(path, bytes));
    ++written.files;
    written.bytes += bytes.size();
  }
  for (const std::string& path : recording.stand_ins) {
    if (path == "MANIFEST.json" || !taken.insert(path).second) continue;
    HEADROOM_CHECK(writer.file(path, ""));
    ++written.stand_ins;
  }
  const std::string manifest =
      make_manifest(recording, counts).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  HEADROOM_CHECK(writer.file("MANIFEST.json", manifest));
  return written;
}

}  // namespace headroom::capture
