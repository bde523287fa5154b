// SPDX-License-Identifier: Apache-2.0
// Every rung of one plan: what it does, by which commands, who dies, and whether it can work here.
#pragma once

#include "plan/reclaim/names.h"
#include "plan/reclaim/reclaim_plan.h"

namespace headroom::plan {

// Fill in the rungs of a plan whose targets and services are known.
void describe_gentle_rungs(const ReclaimSubject& subject,
                           ReclaimPlan& plan);  // Up to stop_service.
void describe_harsh_rungs(const ReclaimSubject& subject, const facts::Gpu& gpu, ReclaimPlan& plan);

// What shows that a desktop or a console is drawn by this GPU; empty: nothing does.
std::vector<std::string> find_desktop(const ReclaimSubject& subject,
                                      const std::vector<Client>& clients, const std::string& pci);

}  // namespace headroom::plan
