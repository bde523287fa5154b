// SPDX-License-Identifier: Apache-2.0
// The functions of toml++ (3), compiled from its headers: for builds that link it in where a
// distribution has it as a shared library only.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
