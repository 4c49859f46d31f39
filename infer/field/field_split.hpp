#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/universe/facts.hpp"
#include "dataset/load/sample_groups.hpp"
#include "dataset/load/split_reader.hpp"
#include "infer/field/field_metrics.hpp"
#include "infer/field/field_output.hpp"
#include "infer/field/field_page.hpp"
#include "infer/predict/model.hpp"

namespace cosmo::infer {

/// The models, and what they predict.
struct FieldJob {
  Models models;
  const std::vector<std::string>& directories;
};

/// What a split's fields came out as.
struct MeasuredFields {
  FieldMetrics metrics;
  FieldSlices slices;  ///< slices of the first universe
};

/// Bytes that predicting boxes of `side` voxels per side takes on a rank of a group.
std::size_t field_memory(const FieldJob& job, int side, const core::Communicator& group);

/// "fields/simulation-00012.h5"
std::string field_path(std::uint32_t simulation);
/// What the file of a sample's predicted field states.
PredictedField predicted_field_of(const nn::ModelManifest& model, const dataset::SplitReader& reader,
                                  std::uint32_t sample);
/// Lets the groups share a split's samples: write(sample, path), called by all of a group, writes the file of each on its
/// root. Collective.
void publish_fields(const dataset::SampleGroups& ranks, const core::Log& log, core::OutputDirectory& output,
                    const dataset::SplitReader& reader,
                    const std::function<void(std::uint32_t, const std::filesystem::path&)>& write);
/// The root's slices, on every rank. Collective.
FieldSlices shared(const core::Communicator& comm, const FieldSlices& slices);

/// Predicts the fields of a split, which the groups of ranks share, writes each to a file of `output`, and measures them against the
/// truth and the baselines; `facts`: what is known of the data. The same bytes on any number of groups. Collective.
MeasuredFields predict_fields(const dataset::SampleGroups& ranks, const core::Log& log,
                              core::OutputDirectory& output, const FieldJob& job,
                              dataset::SplitReader& reader, const core::Facts& facts);

}  // namespace cosmo::infer
