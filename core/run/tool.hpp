#pragma once
// What the four executables share: one way to start, show help, fail and end.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "core/run/options.hpp"

namespace cosmo::core {

/// Limits on what a run may take, for tests of the errors beyond them. [bytes]
struct Limits {
  std::uint64_t memory = std::numeric_limits<std::uint64_t>::max();  ///< per node
  std::uint64_t disk = std::numeric_limits<std::uint64_t>::max();
};

/// What a command gets to work with; valid while it runs.
struct Invocation {
  std::string tool;
  const Communicator& comm;
  const Log& log;
  const Options& options;
  int threads;          ///< OpenMP threads of this rank, already set
  Json facts;           ///< host, time, ranks, command, library versions: for run.json
  std::string& result;  ///< what standard output gets when the command has ended
  Limits limits = {};

  /// Gives the run its result: `summary` as one JSON object with --json, otherwise `text`.
  void report(const Json& summary, const std::string& text) const;
};

/// What a command does with a request to stop (core/parallel/stop_signals.hpp).
enum class OnStop {
  end,   ///< ends like any program: there is nothing to continue
  save,  ///< keeps finished work and throws Error{stopped}; the same command continues from there
};

/// One command of a tool. With `writes_output`, --output, --dry-run and --force are declared for it.
struct Command {
  std::string name;  ///< first word on the command line; empty for a tool's nameless command
  std::string summary;
  std::string example;
  bool writes_output;
  OnStop on_stop;
  void (*declare)(Options&);
  void (*run)(const Invocation&);
  /// The HDF5 files it would read that no manifest vouches for (core/hdf5/foreign.hpp). May throw.
  std::vector<std::filesystem::path> (*foreign)(const Options&) = nullptr;
};

struct Tool {
  std::string name;
  std::string summary;
  std::vector<std::string> libraries;  ///< "name version" of libraries it is linked to, for --version
  std::vector<Command> commands;
};

/// Runs an executable from start to end: parses the options, starts MPI, sets the threads, runs the command,
/// prints an error once and returns the exit code (see Fault). A failure that the ranks have not agreed on
/// aborts the run.
int run_tool(int argc, char** argv, const Tool& tool);

/// How a command ended and, on the root rank, its output.
struct Ended {
  int exit_code;
  Transcript said;
};

/// Runs a command within a program that has started MPI, as tests do; `words` are those after the tool's name
/// on the command line. Leaves signal handlers unchanged. Collective over comm; a failure that the ranks have
/// not agreed on aborts the program.
Ended run_within(const Communicator& comm, const Tool& tool, std::vector<std::string> words,
                 const Limits& limits = {});

}  // namespace cosmo::core
