#include "dataset/tool/cosmo_prep.hpp"

#include "core/run/tool.hpp"
#include "dataset/make/phases.hpp"
#include "dataset/make/verify.hpp"
#include "dataset/tool/cosmo_prep_describe.hpp"
#include "dataset/tool/cosmo_prep_exchange.hpp"
#include "dataset/tool/cosmo_prep_histogram.hpp"
#include "dataset/tool/cosmo_prep_shard.hpp"

using namespace cosmo;
using dataset::DatasetManifest;

namespace {

void declare_directory(core::Options& options) {
  options.add_positional("directory", "directory that cosmo-prep shard or import wrote");
  options.add_flag(
      "phases",
      "also compare the universes' content: which share their initial phases, whatever seeds are stated");
}

void run_verify(const core::Invocation& run) {
  DatasetManifest manifest;
  run.comm.agree([&] { manifest = dataset::load_to_verify(run.log, run.options.text("directory")); });
  const std::string& directory = run.options.text("directory");
  const dataset::VerifiedDataset found = verify_dataset(run.comm, run.log, directory, manifest);
  core::Json summary = {{"verified", true},
                        {"id", manifest.base.request.id()},
                        {"shards", found.shards},
                        {"samples", found.samples},
                        {"particles", found.voxels.counts.particles}};
  std::string text = fmt::format("{}: all {} shards and {} samples are as they were written\n", directory,
                                 found.shards, found.samples);
  if (run.options.flag("phases")) {
    const dataset::DatasetPhases phases = dataset::compare_phases(run.comm, run.log, directory, manifest);
    summary["phases"] = phases.to_json();
    text += phases.finding.text() + "\n";
    for (const std::string& pair : phases.pairs) text += pair + "\n";
    if (!phases.pairs.empty()) run.log.warn("{}: {}.", directory, phases.remark());
  }
  run.report(summary, text);
}

}  // namespace

core::Tool dataset::cosmo_prep_tool() {
  return {"cosmo-prep",
          "training data from the counts of a suite",
          {},
          {{"shard", "cuts, splits and shards a suite's counts",
            "mpirun -n 2 cosmo-prep shard --input sim --validation 8 --test 8 --output data", true,
            core::OnStop::save, &dataset::declare_shard, &dataset::run_shard},
           {"histogram", "counts the particles of a snapshot of any program",
            "cosmo-prep histogram --input snapdir_004 --grid 256 --output counts", true, core::OnStop::save,
            &dataset::declare_histogram, &dataset::run_histogram, &dataset::histogram_files},
           {"verify", "reads every sample of a dataset and compares all checksums", "cosmo-prep verify data",
            false, core::OnStop::end, &declare_directory, &run_verify},
           {"describe", "prints splits, shapes, parameter ranges, statistics and origin; draws samples",
            "cosmo-prep describe data --svg data.svg", false, core::OnStop::end, &dataset::declare_describe,
            &dataset::run_describe},
           {"export", "writes a dataset's samples as .npy or TFRecord files, for other programs",
            "cosmo-prep export --input data --format tfrecord --output data-tf", true, core::OnStop::save,
            &dataset::declare_export, &dataset::run_export},
           {"import", "makes a dataset from .npy or TFRecord files, exported or made by other programs",
            "cosmo-prep import --input data-tf --format tfrecord --output data-again", true,
            core::OnStop::save, &dataset::declare_import, &dataset::run_import}}};
}
