// SPDX-License-Identifier: Apache-2.0
// Whether a function of ours can be called as one of a header declares it: the same number of
// parameters, each of the same kind and size. Our declarations say int where a header has an enum,
// and void* where it has a pointer to what it never defines.
#pragma once

#include <cstddef>
#include <type_traits>

namespace headroom::gpu {

template <class T>
constexpr bool is_number = std::is_integral_v<T> || std::is_enum_v<T>;

template <class Ours, class Theirs>
constexpr bool same_value() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_cv_t<std::remove_pointer_t<Ours>>;
    using B = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
    if constexpr (std::is_void_v<A> || std::is_void_v<B> || std::is_class_v<A>) {
      return true;  // Structures are compared member by member where they are declared.
    } else {
      return same_value<A, B>();
    }
  } else {
    return is_number<Ours> && is_number<Theirs> && sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
constexpr bool same_abi = false;

template <class A, class... As, class B, class... Bs>
constexpr bool same_abi<A (*)(As...), B(Bs...)> = [] {
  if constexpr (sizeof...(As) == sizeof...(Bs)) {
    return same_value<A, B>() && (same_value<As, Bs>() && ...);
  } else {
    return false;
  }
}();

static_assert(same_abi<int (*)(void*, unsigned long), int(long*, unsigned long)>);
static_assert(!same_abi<int (*)(void*), int(long*, unsigned long)>);
static_assert(!same_abi<int (*)(void*, unsigned), int(long*, unsigned long)>);
static_assert(!same_abi<int (*)(unsigned long), int(long*)>);
static_assert(!same_abi<int (*)(int*), int(long*)>);

}  // namespace headroom::gpu
