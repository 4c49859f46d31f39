#pragma once
// Whether universes are like those that models were trained on, as far as both are known.

#include <span>
#include <string>
#include <vector>

#include "core/universe/facts.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::nn {

/// Whether the parameters that models predict are compared, too: not where each universe's labels are.
enum class Learned { compared, left_out };

/// How universes differ from those of a training.
struct FactsCheck {
  std::vector<std::string> warnings;  ///< a sentence on each fact that differs
  std::vector<std::string> unstated;  ///< facts of the training that are not known of these universes
  std::string remark;                 ///< a sentence on what was not compared; empty if everything was
};

/// What is known of a universe, or of several together, and what sentences call them.
struct NamedFacts {
  std::string name;
  core::Facts facts;
};

/// Compares what is known of some universes with what each model's manifest records of those it was trained on. Sentences call
/// all of them `source`; `directories` are the models'. Redshifts and lines of sight are left to InputSpec, which refuses others.
FactsCheck check_facts(std::span<const ModelManifest> models, std::span<const std::string> directories,
                       std::span<const NamedFacts> universes, const std::string& source, Learned learned);

}  // namespace cosmo::nn
