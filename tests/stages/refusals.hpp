#pragma once
// What the tools refuse: one sentence that names what is wrong, and an exit code, the same on any number of
// ranks.

#include <catch2/catch.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/file/input_file.hpp"
#include "tests/stages/chain.hpp"

namespace cosmo {

struct Refusal {
  std::string line;
  core::Fault fault;
  std::vector<std::string> parts;  ///< that the sentence has
};

inline const std::string kGenerate = "cosmo-sim generate --output D/never ";
inline const std::string kShard = "cosmo-prep shard --input D/sim --output D/never ";
inline const std::string kTrain = "cosmo-train --data D/data --output D/never ";
inline const std::string kTrain32 = kTrain + "--network cosmoflow32 ";
inline const std::string kSim =
    "cosmo-sim generate --simulations 6 --omega-m 0.25:0.35 --box 64 --particles 32 --grid 64 --steps 2 ";

/// A suite of six universes of 64³ voxels, 32 samples to train on, a model and its predictions.
struct Made : Chain {
  Made() {
    change([&] { std::filesystem::create_directories(directory.path); });
    for (const std::string& line :
         {kSim + "--output D/sim",
          std::string("cosmo-prep shard --input D/sim --validation 1 --test 1 "
                      "--samples-per-shard 20 --output D/data"),
          std::string(
              "cosmo-train --data D/data --network cosmoflow32 --epochs 1 --global-batch 8 --output D/model"),
          std::string("cosmo-infer --model D/model --data D/data --baselines centre --output D/predictions")})
      succeed(line);
  }

  void succeed(const std::string& line) const {
    const core::Ended ended = run(line + " --threads 1");
    CAPTURE(line, ended.said.remarks);
    REQUIRE(ended.exit_code == 0);
  }

  void refuse(const std::string& line, core::Fault fault, const std::vector<std::string>& parts) const {
    CAPTURE(line);
    check_error(run(line + " --threads 1"), fault, parts);
  }

  void refuse(const std::vector<Refusal>& refusals) const {
    for (const auto& [line, fault, parts] : refusals) refuse(line, fault, parts);
    CHECK_FALSE(std::filesystem::exists(at("never")));
  }

  void write(const std::string& name, const std::string& text) const {
    change([&] { std::ofstream(at(name), std::ios::binary) << text; });
  }

  /// Refuses a line that reads a file with this content.
  void refuse_content(const std::string& name, const std::string& content, const Refusal& refusal) const {
    write(name, content);
    refuse({refusal});
  }

  /// A copy of a directory that may be damaged.
  void copy(const std::string& from, const std::string& to) const {
    change([&] { std::filesystem::copy(at(from), at(to), std::filesystem::copy_options::recursive); });
  }
};

inline std::string content(const std::filesystem::path& path) {
  return core::read_text(path, std::size_t{1} << 30);
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// refuse_options.cpp
void refuse_words(const Made& made);
void refuse_values_of_universes(const Made& made);
void refuse_cuts(const Made& made);
void refuse_values_of_trainings(const Made& made);

// refuse_tables.cpp
void refuse_tables_of_the_spectrum(const Made& made);
void refuse_designs(const Made& made);

// refuse_inputs.cpp
void refuse_inputs_that_are_missing(const Made& made);
void refuse_damaged_inputs(const Made& made);
void refuse_data_that_do_not_fit_the_model(const Made& made);

// refuse_outputs.cpp
void refuse_the_output_of_another_run(const Made& made);
void refuse_damaged_outputs(const Made& made);
void refuse_what_stands_in_the_way(const Made& made);
void refuse_to_replace_files_by_networks(const Made& made);

}  // namespace cosmo
