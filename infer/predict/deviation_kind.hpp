#pragma once

#include <string_view>

#include "infer/predict/distribution.hpp"

namespace cosmo::infer {

/// Where predicted deviations come from.
struct DeviationKind {
  std::string_view key;       ///< in metrics.json
  std::string_view name;      ///< for people
  std::string_view sentence;  ///< in the report
  std::string_view bars;      ///< what bars of that length are
};

/// That of one model, or of several together.
const DeviationKind& deviation_kind(Models models);

}  // namespace cosmo::infer
