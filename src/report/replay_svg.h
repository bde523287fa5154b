// SPDX-License-Identifier: Apache-2.0
// A replay as two pictures with the same axis of events: how much was live and reserved under the
// capacity, and the address space, in which every block is a rectangle in its component's colour.
// Colours are classes that the page defines.
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "report/replay_picture.h"

namespace headroom::report {

// One <svg> each. `id`: of the elements; unique in the page.
std::string held_svg(const ReplayPicture& picture, const std::string& id);
std::string address_svg(const ReplayPicture& picture, const std::string& id);

// What the page's script needs to answer a pointer in held_svg().
Json held_data(const ReplayPicture& picture, const std::string& id);

}  // namespace headroom::report
