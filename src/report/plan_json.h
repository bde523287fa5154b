// SPDX-License-Identifier: Apache-2.0
// Writes a plan as JSON, "headroom.plan/1" (docs/schema/plan.schema.json).
#pragma once

#include "base/document_fwd.h"
#include "estimate/plan.h"
#include "report/component_json.h"

namespace headroom::report {

Json to_json(const estimate::TensorRecord& tensor);  // {"tensor", "bytes", "shape", "dtype"}
Json to_json(const estimate::Change& change);  // {"batch.micro": 2, …}: the job's keys that change.
Json to_json(const estimate::Advice& advice);
Json to_json(const estimate::LargestFit& largest);
Json to_json(const estimate::Plan& plan);

}  // namespace headroom::report
