#pragma once
// Trainings side by side: what differs in how they were made, and in what came out.

#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "infer/compare/compared_run.hpp"
#include "infer/compare/flat_settings.hpp"

namespace cosmo::infer {

struct SideBySide {
  std::vector<ComparedRun> runs;
  std::vector<DifferingSetting> settings;  ///< those that differ
  std::vector<std::string> parameters;     ///< names, of all runs
  bool comparable = true;                  ///< whether all errors are of the same universes and ranges
  std::vector<std::string> notes;          ///< sentences on what is unusual
  std::vector<std::string> remarks;        ///< sentences on how to read the numbers
};

/// Puts runs beside each other and gives them labels. Needs at least two.
SideBySide side_by_side(std::vector<ComparedRun> runs);

/// The error of a run in the parameter called `name`, or nullptr.
const ParameterError* error_of(const ComparedRun& run, const std::string& name);
/// The numbers of the runs whose error in that parameter is the smallest, of several if they are equal; none if there is no
/// error or the runs cannot be compared.
std::vector<std::size_t> smallest_errors(const SideBySide& all, const std::string& name);
/// Epochs at which losses are shown: up to `most` of those that the runs have, evenly, the last included.
std::vector<int> shown_epochs(const SideBySide& all, std::size_t most);
/// The validation loss after that epoch, if there is one.
std::optional<double> validation_loss(const ComparedRun& run, int epoch);

/// What standard output gets, as text and as JSON.
std::string to_text(const SideBySide& all);
core::Json to_json(const SideBySide& all);

}  // namespace cosmo::infer
