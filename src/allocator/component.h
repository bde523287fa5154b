// SPDX-License-Identifier: Apache-2.0
// What a piece of device memory is for. The same nine words tag blocks in the allocator, events in
// traces, rows of a plan and rows of a training report, so that predicted and measured memory can
// be compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom::allocator {

enum class Component : std::uint8_t {
  weights,
  adapters,
  gradients,
  optimizer,
  activations,
  logits,
  kv_cache,
  workspace,
  other,
};

inline constexpr std::size_t component_count = 9;
inline constexpr std::array<Component, component_count> all_components = {
    Component::weights,   Component::adapters,    Component::gradients,
    Component::optimizer, Component::activations, Component::logits,
    Component::kv_cache,  Component::workspace,   Component::other};

std::string_view to_string(Component component);
std::optional<Component> parse_component(std::string_view name);

// One number of bytes for each component.
class ByComponent {
 public:
  std::uint64_t& operator[](Component c) { return bytes_[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](Component c) const { return bytes_[static_cast<std::size_t>(c)]; }
  bool operator==(const ByComponent&) const = default;

 private:
  std::array<std::uint64_t, component_count> bytes_{};
};

}  // namespace headroom::allocator
