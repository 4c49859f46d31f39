#pragma once
// Command lines of all tools, run in process on all ranks in a directory that they share.

#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/run/tool.hpp"
#include "dataset/tool/cosmo_prep.hpp"
#include "infer/tool/cosmo_infer.hpp"
#include "sim/tool/cosmo_sim.hpp"
#include "tests/support/shared_output.hpp"
#include "train/tool/cosmo_train.hpp"

namespace cosmo {

inline const std::map<std::string, core::Tool (*)()> kTools = {{"cosmo-sim", &sim::cosmo_sim_tool},
                                                               {"cosmo-prep", &dataset::cosmo_prep_tool},
                                                               {"cosmo-train", &train::cosmo_train_tool},
                                                               {"cosmo-infer", &infer::cosmo_infer_tool}};

/// A directory that all ranks see, and command lines in which it is called D.
struct Chain {
  core::Communicator comm = core::Communicator::world();
  core::SharedDirectory directory{comm};
  bool is_root = comm.is_root();

  std::filesystem::path at(const std::string& name) const { return directory.path / name; }

  /// `text` with the directory's path in place of the D of each D/ that is not the end of a longer name, as a path
  /// already in the text may have.
  std::string spelt(const std::string& text) const {
    std::string spelt;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_whole = i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0;
      if (is_whole && text.compare(i, 2, "D/") == 0)
        spelt += directory.path.string();
      else
        spelt += text[i];
    }
    return spelt;
  }

  /// `line`: a tool and its words, separated by spaces.
  core::Ended run(const std::string& line, const core::Limits& limits = {}) const {
    std::istringstream text(spelt(line));
    std::string tool;
    text >> tool;
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return core::run_within(comm, kTools.at(tool)(), words, limits);
  }

  /// Changes files on the root rank while the others wait.
  void change(const std::function<void()>& what) const {
    comm.barrier();
    if (is_root) what();
    comm.barrier();
  }

  /// The command ended with one sentence, which has all `parts`, and printed no result.
  void check_error(const core::Ended& ended, core::Fault fault, const std::vector<std::string>& parts) const {
    CHECK(ended.exit_code == static_cast<int>(fault));
    if (!is_root) return;
    CAPTURE(ended.said.remarks);
    CHECK(ended.said.results.empty());
    CHECK(ended.said.remarks.find(": error: ") != std::string::npos);
    CHECK(ended.said.remarks.find(": error: ") == ended.said.remarks.rfind(": error: "));
    for (const std::string& part : parts) {
      CAPTURE(part);
      CHECK(ended.said.remarks.find(spelt(part)) != std::string::npos);
    }
  }
};

}  // namespace cosmo
