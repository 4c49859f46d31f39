#pragma once
// Models of a field, and the universes in files that they predict.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/parallel/communicator.hpp"
#include "core/run/options.hpp"
#include "core/run/tool.hpp"
#include "infer/field/field_predictor.hpp"
#include "infer/input/universe_list.hpp"
#include "infer/predict/model.hpp"
#include "nn/model/facts_check.hpp"

namespace cosmo::infer {

/// The models of --model.
struct FieldModels {
  std::vector<std::string> directories;
  std::vector<Model> models;
  std::vector<std::string> doubts;

  const Model& first() const { return models.front(); }
  bool read_velocity() const { return first().normalisation.velocity > 0; }
};

/// Throws Error{usage} if an option is given that is for models of parameters, Error{config} unless all models predict one
/// field from one input.
FieldModels read_field_models(const core::Options& options);

/// How files are to be read, by --box and the options of snapshots.
InputReading read_input_reading(const core::Options& options);

/// The universes of --input, each with its voxels per side, its seed if that is known, and what is known of it but its box: boxes of
/// other sizes are as good.
struct FieldUniverses {
  UniverseList list;
  std::vector<int> sides;
  std::vector<std::optional<std::uint64_t>> seeds;
  std::vector<nn::NamedFacts> facts;
  std::vector<std::string> velocity_files;  ///< those that no suite's manifest stands for
};

/// Opens all on this rank alone. Throws as list_universes() and open_universe() do.
FieldUniverses read_field_universes(const FieldModels& models, const std::vector<std::string>& names,
                                    const InputReading& reading);

/// Sentences on how the universes differ from those of the training: by what is known of them and, of up to 64, by their
/// counts. Collective.
std::vector<std::string> compare_with_trained(const core::Invocation& run, const FieldModels& models,
                                              const FieldUniverses& universes);

/// A field that was predicted, valid until the next.
struct UniverseField {
  std::span<const float> values;
  int side;
  std::optional<std::uint64_t> seed;
};

/// Predicts universes of a list, each by a group of ranks.
class UniverseFields {
 public:
  /// All must outlive it.
  UniverseFields(const FieldModels& models, const UniverseList& list, const core::Communicator& group)
      : models_(models), list_(list), group_(group) {}
  /// Collective over the group. Throws an agreed Error{config} for a universe without particles, and as reading does.
  UniverseField predict(const core::Log& log, std::size_t universe);

 private:
  const FieldModels& models_;
  const UniverseList& list_;
  const core::Communicator& group_;
  std::optional<FieldPredictor> predictor_;
  int side_ = 0;
};

}  // namespace cosmo::infer
