// SPDX-License-Identifier: Apache-2.0
#include "logs/words.h"

#include <algorithm>

namespace headroom::logs {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

}  // namespace

struct Words::Trie {
  std::uint32_t width = 1;
  std::vector<std::uint32_t> next;      // width for each node; none: not in the trie.
  std::vector<std::uint32_t> fail;      // The longest end of a node's text that is a node.
  std::vector<std::vector<int>> words;  // That end at a node.
  std::vector<std::uint32_t> by_depth;

  std::uint32_t add_node() {
    next.resize(next.size() + width, none);
    fail.push_back(0);
    words.emplace_back();
    return static_cast<std::uint32_t>(fail.size() - 1);
  }
  std::uint32_t& at(std::uint32_t node, std::uint32_t letter) {
    return next[std::size_t{node} * width + letter];
  }

  void add(std::string_view text, int word, const std::array<std::uint8_t, 256>& classes) {
    std::uint32_t node = 0;
    for (const char byte : text) {
      const std::uint32_t letter = classes[static_cast<unsigned char>(byte)];
      if (at(node, letter) == none) {
        const std::uint32_t fresh = add_node();
        at(node, letter) = fresh;
      }
      node = at(node, letter);
    }
    words[node].push_back(word);
  }

  // Every node gets a way on for every letter, and the words that lie at the end of its text.
  void complete() {
    by_depth = {0};
    for (std::size_t i = 0; i < by_depth.size(); ++i) {
      const std::uint32_t node = by_depth[i];
      const std::vector<int>& within = words[fail[node]];
      if (node != 0) words[node].insert(words[node].end(), within.begin(), within.end());
      for (std::uint32_t letter = 0; letter < width; ++letter) {
        const std::uint32_t otherwise = node == 0 ? 0 : at(fail[node], letter);
        std::uint32_t& child = at(node, letter);
        if (child == none) {
          child = otherwise;
        } else {
          fail[child] = otherwise;
          by_depth.push_back(child);
        }
      }
    }
  }
};

Words::Words(const std::vector<Word>& words) {
  for (const Word& word : words) {
    for (const char byte : word.text) {
      std::uint8_t& known = classes_[static_cast<unsigned char>(byte)];
      if (known == 0) known = static_cast<std::uint8_t>(width_++);
    }
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    classes_[static_cast<unsigned char>(letter - 'a' + 'A')] =
        classes_[static_cast<unsigned char>(letter)];
  }
  Trie trie;
  trie.width = width_;
  trie.add_node();
  for (std::size_t i = 0; i < words.size(); ++i) {
    trie.add(words[i].text, static_cast<int>(i), classes_);
  }
  trie.complete();
  // Nodes near the root, which are visited most, stand together.
  std::vector<std::uint32_t> order = trie.by_depth;
  const auto has_key = [&](std::uint32_t node) {
    return std::any_of(trie.words[node].begin(), trie.words[node].end(),
                       [&](int word) { return words[static_cast<std::size_t>(word)].is_key; });
  };
  const auto with_words = std::stable_partition(
      order.begin(), order.end(), [&](std::uint32_t node) { return trie.words[node].empty(); });
  const auto with_key = std::stable_partition(with_words, order.end(),
                                              [&](std::uint32_t node) { return !has_key(node); });
  first_with_words_ = static_cast<std::uint32_t>(with_words - order.begin()) * width_;
  first_with_key_ = static_cast<std::uint32_t>(with_key - order.begin()) * width_;
  std::vector<std::uint32_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint32_t>(i) * width_;
  }
  start_ = place[0];
  next_.reserve(trie.next.size());
  for (const std::uint32_t node : order) {
    for (std::uint32_t letter = 0; letter < width_; ++letter) {
      next_.push_back(place[trie.at(node, letter)]);
    }
    if (trie.words[node].empty()) continue;
    found_begin_.push_back(static_cast<std::uint32_t>(found_.size()));
    found_.insert(found_.end(), trie.words[node].begin(), trie.words[node].end());
  }
  found_begin_.push_back(static_cast<std::uint32_t>(found_.size()));
}

std::size_t Words::find_end(std::string_view text, std::size_t from) const {
  std::uint32_t state = start_;
  for (std::size_t i = from; i < text.size(); ++i) {
    state = next(state, text[i]);
    if (state >= first_with_key_) return i + 1;
  }
  return std::string_view::npos;
}

// A part of the text, from the beginning of a line to the end of one.
struct Words::Lane {
  std::size_t at = 0, end = 0;
  std::uint32_t state = 0;
  std::vector<std::size_t> ends;

  // A key word ends here; the line's others are of no interest.
  void take(std::string_view lines, std::uint32_t start) {
    ends.push_back(at);
    const std::size_t line_end = lines.substr(0, end).find('\n', at);
    at = line_end == std::string_view::npos ? end : line_end;
    state = start;
  }
};

void Words::read_in_turns(std::string_view lines, std::array<Lane, lane_count>& lanes) const {
  for (;;) {
    std::size_t steps = lines.size();
    for (const Lane& lane : lanes) steps = std::min(steps, lane.end - lane.at);
    if (steps == 0) return;
    auto& [a, b, c, d] = lanes;
    std::uint32_t in_a = a.state, in_b = b.state, in_c = c.state, in_d = d.state;
    std::size_t done = 0;
    bool is_found = false;
    while (done < steps && !is_found) {
      in_a = next(in_a, lines[a.at + done]);
      in_b = next(in_b, lines[b.at + done]);
      in_c = next(in_c, lines[c.at + done]);
      in_d = next(in_d, lines[d.at + done]);
      is_found = std::max(std::max(in_a, in_b), std::max(in_c, in_d)) >= first_with_key_;
      ++done;
    }
    a.state = in_a, b.state = in_b, c.state = in_c, d.state = in_d;
    for (Lane& lane : lanes) {
      lane.at += done;
      if (lane.state >= first_with_key_) lane.take(lines, start_);
    }
  }
}

void Words::read_alone(std::string_view lines, Lane& lane) const {
  while (lane.at < lane.end) {
    lane.state = next(lane.state, lines[lane.at++]);
    if (lane.state >= first_with_key_) lane.take(lines, start_);
  }
}

void Words::find_ends(std::string_view lines, std::vector<std::size_t>& ends) const {
  ends.clear();
  std::array<Lane, lane_count> lanes;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lane_count; ++i) {
    const std::size_t wanted = std::max(begin, lines.size() / lane_count * (i + 1));
    const std::size_t line_end =
        i + 1 == lane_count ? std::string_view::npos : lines.find('\n', wanted);
    const std::size_t end =
        line_end == std::string_view::npos ? lines.size() : std::min(line_end + 1, lines.size());
    lanes[i] = {begin, end, start_, {}};
    begin = end;
  }
  read_in_turns(lines, lanes);
  for (Lane& lane : lanes) {
    read_alone(lines, lane);
    ends.insert(ends.end(), lane.ends.begin(), lane.ends.end());
  }
}

void Words::find_all(std::string_view line, std::vector<int>& found) const {
  std::uint32_t state = start_;
  for (const char byte : line) {
    state = next(state, byte);
    if (state < first_with_words_) continue;
    const std::uint32_t row = (state - first_with_words_) / width_;
    for (std::uint32_t i = found_begin_[row]; i < found_begin_[row + 1]; ++i) {
      found.push_back(found_[i]);
    }
  }
}

}  // namespace headroom::logs
