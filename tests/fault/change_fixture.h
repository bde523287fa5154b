// SPDX-License-Identifier: Apache-2.0
// The toy machine with its journal and doors, for tests of apply, undo and confirm.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "change/change_machine.h"
#include "fault/toy_machine.h"

namespace headroom::change {

constexpr auto journal_folder = "/var/lib/headroom";

class ChangeTest : public ::testing::Test {
 protected:
  ChangeTest() { testing::fill_toy_machine(root_); }

  testing::Snapshot machine() const { return root_.snapshot(journal_folder); }
  plan::Record apply_toy(const plan::Change& change = testing::toy_change()) {
    auto record = apply(doors_, journal_, change, "boot-1");
    EXPECT_TRUE(record) << record.error().message;
    return record ? *std::move(record) : plan::Record();
  }

  testing::ScratchRoot root_;
  machine::WritableFiles files_ = *machine::WritableFiles::open(root_.string());
  testing::ToyPrograms programs_{files_};
  Journal journal_{files_, journal_folder};
  Doors doors_{files_, programs_, "2026-11-21T22:30:11Z"};
};

}  // namespace headroom::change
