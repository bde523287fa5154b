// SPDX-License-Identifier: Apache-2.0
#include "yaml/aliases.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace headroom {
namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t most_nodes = 100'000;

bool is_map(const YamlNode& node) {
  return node.kind == Kind::map;
}

// A map's entries, each key once: the first one wins.
class Entries {
 public:
  void add(YamlEntry entry) {
    if (keys_.insert(entry.key.value).second) entries_.push_back(std::move(entry));
  }
  void add_all(const YamlNode& map) {
    for (const YamlEntry& entry : map.entries) add(entry);
  }
  std::vector<YamlEntry> take() { return std::move(entries_); }

 private:
  std::vector<YamlEntry> entries_;
  std::set<std::string> keys_;
};

class Filler {
 public:
  // In the order of the document: a name may be given to another anchor, and holds from there on.
  YamlNode fill(YamlNode node) {
    if (!count(1)) return {};
    if (node.kind == Kind::alias) return fill_alias(std::move(node));
    const std::string anchor = std::exchange(node.anchor, "");
    if (!anchor.empty()) anchors_.erase(anchor);  // Not known yet within itself.
    for (YamlNode& item : node.items) item = fill(std::move(item));
    if (is_map(node)) node.entries = fill_entries(std::move(node.entries));
    if (!anchor.empty() && count(size_of(node))) anchors_[anchor] = node;
    return node;
  }

  bool is_too_large() const { return nodes_ > most_nodes; }

 private:
  bool count(std::size_t more) {
    nodes_ += more;
    return !is_too_large();
  }

  YamlNode fill_alias(YamlNode alias) {
    const auto named = anchors_.find(alias.value);
    if (named == anchors_.end() || !count(size_of(named->second))) return alias;
    return named->second;
  }

  static std::size_t size_of(const YamlNode& node) {
    std::size_t size = 1;
    for (const YamlNode& item : node.items) size += size_of(item);
    for (const YamlEntry& entry : node.entries) size += 1 + size_of(entry.value);
    return size;
  }

  // A map's own entries win over those that are merged in; of a list of maps the earlier one wins.
  std::vector<YamlEntry> fill_entries(std::vector<YamlEntry> given) {
    Entries entries;
    std::vector<YamlNode> merged;
    for (YamlEntry& entry : given) {
      YamlNode value = fill(std::move(entry.value));
      const bool merges =
          entry.key.value == "<<" &&
          (is_map(value) || (value.kind == Kind::list &&
                             std::all_of(value.items.begin(), value.items.end(), is_map)));
      if (merges) {
        merged.push_back(std::move(value));
      } else {
        entries.add({std::move(entry.key), std::move(value)});
      }
    }
    for (const YamlNode& from : merged) {
      if (is_map(from)) entries.add_all(from);
      for (const YamlNode& map : from.items) entries.add_all(map);
    }
    return entries.take();
  }

  std::map<std::string, YamlNode> anchors_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<YamlNode> fill_in_aliases(YamlNode root) {
  Filler filler;
  YamlNode filled = filler.fill(std::move(root));
  if (filler.is_too_large()) {
    return Error{Errc::invalid,
                 "expected at most 100,000 values, found more, counted with what aliases stand for",
                 "write out what the aliases stand for"};
  }
  return filled;
}

}  // namespace headroom
