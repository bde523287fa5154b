// SPDX-License-Identifier: Apache-2.0
// The keys of a job for models that see: its images, and the parts that are not trained.
#pragma once

#include "base/document_reader.h"
#include "estimate/job.h"

namespace headroom::estimate {

// method.freeze_…; requires that method.kind has been read. A problem is the reader's.
void read_frozen(TableReader& table, Job::Method& method);
// batch.images_per_sample and batch.image_size; a problem is the reader's.
void read_images(TableReader& table, Job::Batch& batch);

}  // namespace headroom::estimate
