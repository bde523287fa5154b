// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/snapshot_owners.h"

#include <fmt/format.h>

#include "base/encoding.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t frames_looked_at = 256;
constexpr std::size_t longest_name = 200;

struct Frame {
  std::string_view function;
  std::string_view file;
  std::uint64_t line = 0;
};

// Higher is a better name for what asked for memory.
int rank(const Frame& frame) {
  if (!frame.file.ends_with(".py")) return frame.file.empty() ? 1 : 0;
  for (const std::string_view library :
       {"/site-packages/", "/dist-packages/", "/torch/", "/lib/python"}) {
    if (frame.file.find(library) != frame.file.npos) return 2;
  }
  return 3;
}

std::string name_of(const Frame& frame) {
  const std::string_view file = frame.file.substr(frame.file.rfind('/') + 1);
  std::string name = file.empty() ? std::string(frame.function)
                                  : fmt::format("{}:{} {}", file, frame.line, frame.function);
  if (name.size() > longest_name) name.resize(longest_name);
  return is_utf8(name) ? name : "a function whose name is not text";
}

}  // namespace

SnapshotOwner SnapshotOwners::owner_of(PickleValue frames) {
  if (frames.kind() != PickleKind::list && frames.kind() != PickleKind::tuple) return {};
  const auto [known, is_new] = known_.try_emplace(pickle_->identity(frames));
  if (is_new) known->second = look_at(frames);
  return known->second;
}

SnapshotOwner SnapshotOwners::look_at(PickleValue frames) {
  SnapshotOwner owner;
  Frame best;
  int best_rank = -1;
  std::size_t seen = 0;
  pickle_->each(frames, [&](PickleValue item) {
    const auto [name, file, line] =
        pickle_->fields(item, std::array<std::string_view, 3>{"name", "filename", "line"});
    const Frame frame{pickle_->to_text(name).value_or(""), pickle_->to_text(file).value_or(""),
                      pickle_->to_unsigned(line).value_or(0)};
    if (frame.file.empty() && frame.function.starts_with(component_frame_prefix)) {
      const auto tag = parse_component(frame.function.substr(component_frame_prefix.size()));
      if (tag) owner.tag = *tag;
    } else if (rank(frame) > best_rank && !(frame.file.empty() && frame.function.empty())) {
      best = frame;
      best_rank = rank(frame);
    }
    return ++seen < frames_looked_at;
  });
  if (best_rank >= 0) owner.name = number_of(name_of(best));
  return owner;
}

std::uint32_t SnapshotOwners::number_of(std::string name) {
  if (name.empty()) return 0;
  const auto [known, is_new] =
      numbers_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_->size()));
  if (is_new) names_->push_back(known->first);
  return known->second;
}

}  // namespace headroom::allocator
