#pragma once
// The life that all stages share: every command that makes an output directory is a Stage, and run_stage() is
// the only place that knows --dry-run, --force, what "up to date" means, and when memory or disk refuse a
// run.

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/output/output_directory.hpp"
#include "core/run/tool.hpp"

namespace cosmo::core {

/// What a run will take.
struct Needs {
  std::uint64_t memory = 0;        ///< of a rank at its most, with what it has now [bytes]
  std::string memory_cause = {};   ///< begins the sentence on too little: "--grid 4096 needs"
  std::string memory_remedy = {};  ///< "choose a coarser one"
  std::uint64_t disk = 0;          ///< of the whole output [bytes]
  std::uint64_t disk_missing = 0;  ///< of what is still to be written [bytes]
  bool disk_is_exact = true;       ///< else the most that it may be, of which a full disk is only warned
  std::string disk_cause = {};     ///< "The shards to write"
  std::string disk_remedy = "make room";
};

/// What is printed: facts with --json, else text.
struct Report {
  Json facts = Json::object();
  std::string text;                  ///< lines
  std::optional<Error> ending = {};  ///< thrown once the rest is printed
};

/// A run of a stage: what it is asked for, and how that is made. Every function is collective, and may throw.
class Stage {
 public:
  /// Reads --output and --force. What derives from it reads the rest, and fills in the request.
  explicit Stage(const Invocation& run);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// What making all that is not `there` takes. Not called if the output is up to date.
  virtual Needs needs(const Manifest& there) = 0;
  /// What is asked for, after needs().
  virtual Report outline() = 0;
  /// Makes what is missing, up to the manifest.
  virtual Report make(OutputDirectory& output) = 0;
  /// The facts of an output that is up to date.
  virtual Json found(const Manifest& there) = 0;

  const Invocation& run;
  std::string target;  ///< --output
  Request request;
  Overwrite overwrite;
  Slice slice;
};

/// Runs a stage from options to summary. With --dry-run it touches nothing, warns of all that would refuse
/// the run, and succeeds. Otherwise throws, on all ranks, before anything is written: what opening the
/// directory does (core/output/output_directory.hpp), Error{config} if a node has too little memory,
/// Error{io} if the disk has too little room. All summaries have: output, id, up_to_date,
/// memory_bytes_per_rank, memory_bytes_per_node, memory_available_bytes, disk_bytes, disk_bytes_to_write,
/// disk_bytes_to_remove, disk_available_bytes; those of dry runs dry_run and refusals; others complete,
/// peak_rss_bytes and seconds. A run that is stopped prints its summary before it throws Error{stopped}.
/// Collective.
void run_stage(Stage& stage);

}  // namespace cosmo::core
