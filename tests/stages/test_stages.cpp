// Every stage in the same situations: what it does, its exit code and the keys of its summary.

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/file/checksum.hpp"
#include "core/parallel/stop_signals.hpp"
#include "tests/stages/chain.hpp"

using namespace cosmo;
using core::Fault;
using core::Json;

namespace {

namespace fs = std::filesystem;

/// Where a stage notices that it was asked to stop: not at all, for the signal ends the process; while it
/// reads its inputs; or between units of its work, when it has a plan to report.
enum class Stop { by_signal, in_reading, in_work };

/// A command line without --output (chain.hpp).
struct StageCase {
  std::string name;
  std::string tool;
  std::string words;
  std::string other;          ///< another request
  std::string input;          ///< a file that it reads, below D
  Fault missing = Fault::io;  ///< without that file
  Stop stop = Stop::in_work;
};

const std::vector<StageCase> kStages = {
    {"sim", "cosmo-sim",
     "generate --simulations 6 --omega-m 0.25:0.35 --box 64 --particles 16 --grid 32 --steps 2 --save counts,particles",
     "generate --simulations 6 --omega-m 0.25:0.35 --box 64 --particles 16 --grid 32 --steps 3 --save counts,particles",
     ""},
    {"counts", "cosmo-prep", "histogram --input D/sim/sim-00000/snapshot_z0.hdf5 --grid 16",
     "histogram --input D/sim/sim-00000/snapshot_z0.hdf5 --grid 8", "sim/sim-00000/snapshot_z0.hdf5",
     Fault::io, Stop::by_signal},
    {"table", "cosmo-prep", "histogram --input D/table.csv --grid 16",
     "histogram --input D/table.csv --grid 8", "table.csv", Fault::io, Stop::in_reading},
    {"data", "cosmo-prep", "shard --input D/sim --subvolumes 1 --validation 1 --test 1",
     "shard --input D/sim --subvolumes 2 --validation 1 --test 1", "sim/manifest.json"},
    {"npy", "cosmo-prep", "export --input D/data --format npy", "export --input D/data --format tfrecord",
     "data/manifest.json"},
    {"again", "cosmo-prep", "import --input D/npy --format npy", "", "npy/manifest.json",
     Fault::config},  // they may be files of other programs,
    {"model", "cosmo-train", "--data D/data --network cosmoflow32 --epochs 1 --global-batch 2 --recipe paper",
     "--data D/data --network cosmoflow32 --epochs 1 --global-batch 4 --recipe paper", "data/manifest.json"},
    {"predictions", "cosmo-infer", "--model D/model --data D/data --split test --baselines centre",
     "--model D/model --data D/data --split validation --baselines centre", "model/manifest.json", Fault::io,
     Stop::by_signal},
    {"universes", "cosmo-infer", "--model D/model --input D/sim",
     "--model D/model --input D/sim/sim-00000/counts_z0.h5", "sim/manifest.json", Fault::config,
     Stop::by_signal},
    {"onnx", "cosmo-infer", "export --model D/model", "", "model/manifest.json", Fault::io, Stop::by_signal},
};

const std::set<std::string> kCommon = {"output",
                                       "id",
                                       "up_to_date",
                                       "memory_bytes_per_rank",
                                       "disk_bytes",
                                       "memory_bytes_per_node",
                                       "memory_available_bytes",
                                       "disk_bytes_to_write",
                                       "disk_bytes_to_remove",
                                       "disk_available_bytes"};

Json summary_of(const core::Ended& ended) { return Json::parse(ended.said.results); }

/// All files and their content, but for times.
std::vector<std::pair<std::string, std::string>> contents(const fs::path& directory) {
  std::vector<std::pair<std::string, std::string>> found;
  if (!fs::exists(directory)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().filename() != ".lock")
      found.emplace_back(entry.path().string(), core::sha256_of_file(entry.path()));
  }
  std::ranges::sort(found);
  return found;
}

/// The text without its numbers: the memory that a rank already has grows from run to run.
std::string without_figures(std::string text) {
  std::erase_if(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return text;
}

void check_common(const Json& summary, const std::set<std::string>& more) {
  std::set<std::string> wanted = kCommon;
  wanted.insert(more.begin(), more.end());
  for (const std::string& key : wanted) {
    CAPTURE(key);
    CHECK(summary.contains(key));
  }
}

/// The stages, one after another.
struct StageChain : Chain {
  core::Ended run(const StageCase& stage, const fs::path& output, const std::string& more = "",
                  const core::Limits& limits = {}) const {
    return Chain::run(
        stage.tool + " " + stage.words + " --threads 1 --json --output " + output.string() + " " + more,
        limits);
  }

  /// A run is refused; a dry run warns of it with the same sentence, and succeeds.
  void check_refusal(const StageCase& stage, const fs::path& output, Fault fault,
                     const std::string& more = "", const core::Limits& limits = {}) const {
    const core::Ended dry = run(stage, output, more + " --dry-run", limits),
                      real = run(stage, output, more, limits);
    CAPTURE(output.string(), more, limits.memory, limits.disk, dry.said.remarks, dry.said.results);
    REQUIRE(dry.exit_code == 0);
    if (!is_root) return check_error(real, fault, {});
    const Json summary = summary_of(dry);
    check_common(summary, {"dry_run", "refusals"});
    REQUIRE(summary.at("refusals").size() == 1);
    const auto refusal = summary.at("refusals").front().get<std::string>();
    CHECK(dry.said.remarks.find("warning: " + refusal) != std::string::npos);
    check_error(real, fault, {});
    CHECK(without_figures(real.said.remarks).find(without_figures(refusal)) != std::string::npos);
  }
};

/// Nothing is there: a dry run touches nothing and finds nothing in the way.
void plan(const StageChain& chain, const StageCase& stage) {
  const core::Ended planned = chain.run(stage, chain.at(stage.name), "--dry-run");
  CAPTURE(planned.said.remarks);
  REQUIRE(planned.exit_code == 0);
  CHECK_FALSE(fs::exists(chain.at(stage.name)));
  if (!chain.is_root) return;
  const Json summary = summary_of(planned);
  check_common(summary, {"dry_run", "refusals"});
  CHECK(summary.at("refusals").empty());
  CHECK_FALSE(summary.at("up_to_date").get<bool>());
  CHECK(summary.at("disk_bytes_to_write").get<std::uint64_t>() > 0);
}

void lack_memory_and_disk(const StageChain& chain, const StageCase& stage) {
  chain.check_refusal(stage, chain.at(stage.name), Fault::config, "", {.memory = 1000});
  chain.check_refusal(stage, chain.at(stage.name), Fault::io, "", {.disk = 10});
  CHECK_FALSE(fs::exists(chain.at(stage.name)));
}

/// Files that the toolkit did not write are not replaced, even with --force.
void find_others_files(const StageChain& chain, const StageCase& stage) {
  const fs::path occupied = chain.at(stage.name + "-occupied");
  chain.change([&] {
    fs::create_directories(occupied);
    std::ofstream(occupied / "letter.txt") << "to a friend";
  });
  const auto before = contents(occupied);
  chain.check_refusal(stage, occupied, Fault::config);
  chain.check_refusal(stage, occupied, Fault::config, "--force");
  CHECK(contents(occupied) == before);
}

/// A link that leads nowhere, or a file, is where the output or a directory above it is to be.
void find_no_place(const StageChain& chain, const StageCase& stage) {
  const fs::path link = chain.at(stage.name + "-link"), nowhere = chain.at("nowhere"),
                 file = chain.at(stage.name + "-file");
  chain.change([&] {
    fs::create_symlink(nowhere, link);
    std::ofstream(file) << "to a friend";
  });
  for (const fs::path& output : {link, link / "below", file, file / "below"})
    chain.check_refusal(stage, output, Fault::io);
  CHECK_FALSE(fs::exists(nowhere));
}

/// One rank is asked to stop before the first unit of work.
void stop(const StageChain& chain, const StageCase& stage) {
  core::remember_stop_signals();
  if (chain.comm.rank() + 1 == chain.comm.size()) std::raise(SIGTERM);
  const core::Ended stopped = chain.run(stage, chain.at(stage.name));
  core::remember_stop_signals();  // forgets the one that came
  CHECK(stopped.exit_code == static_cast<int>(Fault::stopped));
  if (!chain.is_root) return;
  CAPTURE(stopped.said.remarks);
  CHECK(stopped.said.remarks.ends_with(
      stage.tool +
      ": Stopped before all was done: finished work is kept; rerun the same command to continue.\n"));
  CHECK(stopped.said.results.empty() == (stage.stop == Stop::in_reading));
  if (stopped.said.results.empty()) return;
  const Json summary = summary_of(stopped);
  check_common(summary, {"complete", "peak_rss_bytes", "seconds"});
  CHECK_FALSE(summary.at("complete").get<bool>());
  CHECK_FALSE(summary.at("up_to_date").get<bool>());
}

/// A run, again, and as a dry run.
void make(const StageChain& chain, const StageCase& stage) {
  const fs::path output = chain.at(stage.name);
  const core::Ended made = chain.run(stage, output);
  CAPTURE(made.said.remarks);
  REQUIRE(made.exit_code == 0);
  const auto files = contents(output);
  const core::Ended again = chain.run(stage, output), dry = chain.run(stage, output, "--dry-run");
  REQUIRE((again.exit_code == 0 && dry.exit_code == 0));
  CHECK(contents(output) == files);
  if (!chain.is_root) return;
  const Json first = summary_of(made);
  CHECK_FALSE(first.at("up_to_date").get<bool>());
  CHECK(first.at("complete").get<bool>());
  check_common(first, {"complete", "peak_rss_bytes", "seconds"});
  check_common(summary_of(again), {"complete", "peak_rss_bytes", "seconds"});
  check_common(summary_of(dry), {"dry_run", "refusals"});
  for (const Json& summary : {summary_of(again), summary_of(dry)}) {
    CHECK(summary.at("up_to_date").get<bool>());
    CHECK(summary.at("disk_bytes_to_write") == 0);
    CHECK(summary.at("id") == first.at("id"));
  }
  std::ifstream manifest(output / "manifest.json");
  CHECK(Json::parse(manifest).at("id") == first.at("id"));
}

/// The output of another request is in the way; --force would replace it.
void find_another_request(const StageChain& chain, const StageCase& stage) {
  const fs::path output = chain.at(stage.name);
  const auto before = contents(output);
  StageCase other = stage;
  other.words = stage.other;
  chain.check_refusal(other, output, Fault::config);
  const core::Ended forced = chain.run(other, output, "--force --dry-run");
  CHECK(forced.exit_code == 0);
  CHECK(contents(output) == before);
  if (chain.is_root) CHECK(summary_of(forced).at("disk_bytes_to_remove").get<std::uint64_t>() > 0);
}

/// A dry run and a run agree on what of a training can be continued, and leave what they find.
void resume(const StageChain& chain) {
  const StageCase train = {
      "model", "cosmo-train",
      "--data D/data --network cosmoflow32 --epochs 2 --global-batch 2 --recipe paper --resume", "", ""};
  const fs::path nothing = chain.at("nothing");
  chain.check_refusal(train, nothing, Fault::config);
  CHECK_FALSE(fs::exists(nothing));
  const fs::path altered = chain.at("altered"), manifest = altered / "manifest.json";
  chain.change([&] {
    fs::copy(chain.at("model"), altered, fs::copy_options::recursive);
    Json json = core::read_json(manifest);
    json["filtered"] = {{"conv3", {"forward"}}};
    std::ofstream(manifest) << json.dump(1);
  });
  const auto before = contents(altered);
  chain.check_refusal(train, altered, Fault::format);
  chain.check_refusal(train, altered, Fault::config, "--force --seed 2");  // which would remove the training
  CHECK(contents(altered) == before);
}

void lose_an_input(const StageChain& chain, const StageCase& stage) {
  const fs::path input = chain.at(stage.input), kept = chain.at("kept"), never = chain.at("never");
  const std::string name = input.filename().string();
  chain.change([&] {
    fs::copy_file(input, kept);
    fs::resize_file(input, fs::file_size(input) / 2);
  });
  for (const std::string dry : {"", "--dry-run"})
    chain.check_error(chain.run(stage, never, dry), Fault::format, {name});
  chain.change([&] { fs::remove(input); });
  for (const std::string dry : {"", "--dry-run"})
    chain.check_error(chain.run(stage, never, dry), stage.missing, {name});
  chain.change([&] { fs::rename(kept, input); });
  CHECK_FALSE(fs::exists(never));
}

}  // namespace

TEST_CASE("all stages behave the same in the same situation") {
  const StageChain chain;
  chain.change([&] {
    fs::create_directories(chain.directory.path);
    std::ofstream table(chain.at("table.csv"));
    table << "snapshot,simulation\n";
    for (int i = 0; i < 6; ++i) table << fmt::format("sim/sim-{:05}/snapshot_z0.hdf5,{}\n", i, i);
  });
  for (const StageCase& stage : kStages) {
    CAPTURE(stage.name);
    plan(chain, stage);
    lack_memory_and_disk(chain, stage);
    find_others_files(chain, stage);
    find_no_place(chain, stage);
    if (stage.stop != Stop::by_signal) stop(chain, stage);
    make(chain, stage);
    if (!stage.other.empty()) find_another_request(chain, stage);
    if (!stage.input.empty()) lose_an_input(chain, stage);
  }
  resume(chain);
  chain.comm.barrier();  // before the root removes what others still read
}
