#pragma once
// What the voxels of all universes of a split say about predicted classes.

#include <array>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "dataset/measure/confusion.hpp"

namespace cosmo::infer {

/// A way to predict the classes: the network, or a finder on the input.
struct ClassMethod {
  std::string name;
  double smoothing = 0;                            ///< R of a finder, in the unit of the box; 0 for others
  std::vector<dataset::Confusion> universes = {};  ///< those of each universe
};

/// Figures of a confusion, in one list for errors by bootstrap.
struct ClassFigures {
  static constexpr std::size_t kClasses = dataset::Confusion::kClasses;
  std::array<double, kClasses> iou, f1, predicted;  ///< the last: shares of the volume
  double macro_f1, mcc, mcc_void;

  static constexpr std::size_t kAll = 3 * kClasses + 3;
  explicit ClassFigures(const dataset::Confusion& confusion);
  /// From list() of others.
  explicit ClassFigures(const std::array<double, kAll>& list);
  std::array<double, kAll> list() const;
};

/// A method's figures over all voxels of all universes, with errors by bootstrap over universes.
struct ClassOutcome {
  std::string name;
  double smoothing;
  dataset::Confusion confusion;
  ClassFigures value, error;
};

struct ClassMetrics {
  std::string quantity;
  std::size_t universes = 0;
  ClassOutcome network, finder;  ///< the latter with the R of the largest macro F1 on these universes
  ClassFigures gain,
      gain_error;  ///< the network's figures less the finder's, and errors over the same universes
  std::vector<double> smoothings, of_smoothings;  ///< the finder's R, and macro F1 of each
};

/// The figures of the network, the first of the methods, and of the best of the others.
ClassMetrics class_metrics(const std::string& quantity, const std::vector<ClassMethod>& methods);

/// "fields" of metrics.json.
core::Json to_json(const ClassMetrics& metrics);
/// A table of classes.
std::string text_of(const ClassMetrics& metrics);
/// What came out, in a sentence.
std::string outcome_of(const ClassMetrics& metrics);
/// "0.912 ± 0.003", without the error where there is none.
std::string with_error(double value, double error);

}  // namespace cosmo::infer
