#pragma once

#include <cstddef>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "infer/field/class_metrics.hpp"
#include "infer/field/field_page.hpp"
#include "infer/field/field_split.hpp"

namespace cosmo::infer {

/// What a split's classes came out as.
struct MeasuredClasses {
  ClassMetrics metrics;
  FieldSlices slices;  ///< planes of the first universe
};

/// Bytes that predicting classes in boxes of `side` voxels per side, and finding them in the counts, takes.
std::size_t class_memory(const FieldJob& job, int side, const core::Communicator& group);

/// predict_fields() of a model of classes: uint8 files, measured against the truth beside the finder on the same counts.
MeasuredClasses predict_classes(const dataset::SampleGroups& ranks, const core::Log& log,
                                core::OutputDirectory& output, const FieldJob& job,
                                dataset::SplitReader& reader);

}  // namespace cosmo::infer
