#pragma once
// The universes that --input names: files, arrays of many, directories, suites.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/universe/universe.hpp"
#include "infer/input/universe_counts.hpp"
#include "nn/model/facts_check.hpp"

namespace cosmo::infer {

/// One of the universes to predict.
struct ListedUniverse {
  UniverseSource source;
  std::string name;                          ///< for people: its path, with its number
  std::optional<core::Universe> known = {};  ///< if the manifest of its suite states it
  std::optional<std::uint64_t> number =
      {};  ///< in an array of many, or for a universe of a pack in its suite
};

/// The universes to predict, in the order in which they were named.
struct UniverseList {
  std::vector<ListedUniverse> universes;
  std::unique_ptr<histogram::OpenPacks> packs =
      std::make_unique<histogram::OpenPacks>();  ///< those of the universes
  std::vector<std::filesystem::path>
      suites;  ///< directories given as a whole, whose manifests stand for their files
  std::vector<std::filesystem::path> files;  ///< all others: what their universes are read from
  core::WatchedFiles watched =
      {};  ///< all of these, and the suites' files, as they were when they were listed

  /// Whether --input names a single universe, and not a suite or an array that happens to hold one.
  bool is_one() const { return universes.size() == 1 && suites.empty(); }
};

/// How the files of --input are to be read.
struct InputReading {
  std::optional<core::Length> box = {};
  histogram::GadgetReading snapshots = {};
};

/// The names in the words of --input: one each, or several separated by commas, unless the word itself exists.
std::vector<std::string> input_names(const std::vector<std::string>& words);

/// Lists the universes of these files and directories:
///   an .npy file             its universe, or each of many
///   a pack of cosmo-sim      each of its universes
///   a suite of cosmo-sim     each of its universes, which must have counts at the model's redshifts
///   a directory              of .npy files, of packs, or of counts files under names of their own: those of each, in the order of
///                            their names; else one universe
///   any other file           one universe
/// A suite's counts named one by one have what its manifest states of them, too. Throws Error{io} for what is missing,
/// Error{config} naming a directory without universes, a dataset, an unfinished suite, or a name that is given twice, and
/// what reading manifests and headers of .npy files does.
UniverseList list_universes(const nn::ModelManifest& model, const std::vector<std::string>& names,
                            const InputReading& reading);

/// Opens every file of the list, but of a suite that is given as a whole only the first universe's, on this rank alone.
/// Throws as open_universe() does. Returns what predictions of the largest take, and what is known.
struct ListedSizes {
  std::uint64_t samples = 0;               ///< if all universes of a suite are like its first
  std::uint64_t memory = 0;                ///< what the largest universe takes [bytes]
  int cells = 0;                           ///< voxels per side of the first
  std::vector<nn::NamedFacts> facts = {};  ///< what is known of each universe, or of a whole suite
};
ListedSizes check_universes(const nn::ModelManifest& model, const UniverseList& list, int threads);

}  // namespace cosmo::infer
