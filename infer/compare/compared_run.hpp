#pragma once
// A training, or the predictions of one, as it is put beside others.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/universe/universe.hpp"

namespace cosmo::infer {

/// A line of a training's history.csv.
struct CurvePoint {
  int epoch;
  double train_loss, validation_loss;
  /// Rms error of validation universes over the standard deviation of the training labels, its mean over the parameters;
  /// none in histories without it.
  std::optional<double> scaled_error;
};

/// How far a parameter's predictions are off.
struct ParameterError {
  std::string name;
  std::optional<double> scaled;          ///< rms error over the standard deviation of the training labels
  std::optional<double> standard_error;  ///< its standard error; unknown for validation universes
  std::optional<double> rms;             ///< in units of the parameter
};

struct ComparedRun {
  std::string path;   ///< as it was given
  std::string label;  ///< short name, another one for each run
  bool is_training = true;
  std::string id;
  bool complete = true;
  int epochs = 0, epochs_done = 0;
  std::optional<int> chosen;  ///< epoch whose weights predict
  std::string network, loss;
  core::ParameterSpace parameters;     ///< without ranges where these are not known
  std::vector<ParameterError> errors;  ///< empty before the first epoch is finished
  std::string universes;               ///< what the errors are of: "30 test universes"
  std::string data_id;                 ///< id of the dataset that these are from
  /// What distinguishes these universes from others: the suites that the dataset is made of and their numbers there. Where its
  /// manifest is not found any more, or it has no suite: its id.
  std::string universes_id;
  int number = 0;  ///< number of these universes
  std::vector<CurvePoint> curve;
  core::Json settings = core::Json::object();  ///< flat: name and value, of network, data and suite, too
  std::vector<std::string> notes;              ///< sentences on what is unusual
};

/// Reads a model or predictions. Throws Error{io} or Error{format} as core::load_manifest does, and Error{config} for an
/// output of another stage.
ComparedRun read_run(const std::string& directory);

}  // namespace cosmo::infer
