#pragma once
// What cosmo-infer --input prints and writes.

#include <string>

#include "core/format/json.hpp"
#include "infer/input/predictions.hpp"

namespace cosmo::infer {

/// The predictions for a list of universes.
struct ListResult {
  Models models;
  const UniverseList& list;
  const ListPredictions& predictions;
};

/// The parameters of one universe with their errors.
std::string universe_text(Models models, const UniversePrediction& prediction);
/// {"subvolumes", "parameters": {"omega_m": {"value", "error", "subvolumes"}, …}}
core::Json universe_json(const core::ParameterSpace& space, const UniversePrediction& prediction);

/// The parameters of each universe, a line each, at most `most` of them, and their bias and scatter if all truths are
/// the same.
std::string list_text(const ListResult& result, std::size_t most);
/// {"universes": [{"universe", "seed" if known, as of one universe with "truth" if known}, …], "fiducial" as in
/// metrics.json if truths are the same}
core::Json list_json(const ListResult& result);
/// universes.csv: input, universe (its number in an array), subvolumes, seed, then for each parameter true_NAME if
/// that is known of any universe, predicted_NAME and deviation_NAME, with all digits.
std::string list_csv(const ListResult& result);
/// The bias and scatter of the list's universes; empty if not all truths are known.
core::Json list_fiducial(const ListResult& result);

}  // namespace cosmo::infer
