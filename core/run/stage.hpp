#pragma once
// The life cycle that all stages share: every command that makes an output directory is a Stage, and
// run_stage() is the only place that handles --dry-run, --force, outputs that are up to date, and runs that
// need too much memory or disk.

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/output/output_directory.hpp"
#include "core/run/tool.hpp"

namespace cosmo::core {

/// Memory and disk that a run will take.
struct Needs {
  std::uint64_t memory = 0;        ///< peak memory of a rank, including what it has now [bytes]
  std::string memory_cause = {};   ///< beginning of the message on too little memory: "--grid 4096 needs"
  std::string memory_remedy = {};  ///< its remedy: "choose a coarser one"
  std::uint64_t disk = 0;          ///< size of the whole output [bytes]
  std::uint64_t disk_missing = 0;  ///< size of what is still to be written [bytes]
  bool disk_is_exact = true;       ///< false: an upper limit, and too small a disk only gives a warning
  std::string disk_cause = {};     ///< subject of the message on a full disk: "The shards to write"
  std::string disk_remedy = "make room";
};

/// What is printed: facts with --json, otherwise text.
struct Report {
  Json facts = Json::object();
  std::string text;                  ///< lines
  std::optional<Error> ending = {};  ///< thrown once the rest is printed
};

/// A run of a stage: its request, and how to make it. Every function is collective and may throw.
class Stage {
 public:
  /// Reads --output and --force. Derived classes read the other options and fill in the request.
  explicit Stage(const Invocation& run);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Reads what is `there`. Throws if it cannot be continued as the options demand. Not called if the output is up
  /// to date.
  virtual void check(const Manifest&) {}
  /// What it takes to make everything that is not `there` yet. Not called if the output is up to date.
  virtual Needs needs(const Manifest& there) = 0;
  /// A description of the request. Called after needs().
  virtual Report outline() = 0;
  /// Makes what is missing, including the manifest.
  virtual Report make(OutputDirectory& output) = 0;
  /// The report on an output that is up to date.
  virtual Report found(const Manifest& there) = 0;

  const Invocation& run;
  std::string target;  ///< --output
  Request request;
  Overwrite overwrite;
  Slice slice;
};

/// Runs a stage from options to summary. With --dry-run it touches nothing, warns of everything that would
/// stop the run, and succeeds. Otherwise throws, on all ranks, before anything is written: what opening the
/// directory throws (core/output/output_directory.hpp), Error{config} if a node has too little memory,
/// Error{io} if the disk has too little room. All summaries have: output, id, up_to_date,
/// memory_bytes_per_rank, memory_bytes_per_node, memory_available_bytes, disk_bytes, disk_bytes_to_write,
/// disk_bytes_to_remove, disk_available_bytes; those of dry runs also dry_run and refusals, others complete,
/// peak_rss_bytes and seconds. A run that is stopped prints its summary before it throws Error{stopped}.
/// Collective.
void run_stage(Stage& stage);

}  // namespace cosmo::core
