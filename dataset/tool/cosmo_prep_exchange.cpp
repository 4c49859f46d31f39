#include "dataset/tool/cosmo_prep_exchange.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/machine/memory.hpp"
#include "core/named.hpp"
#include "core/run/stage.hpp"
#include "core/timer.hpp"
#include "dataset/exchange/export_dataset.hpp"
#include "dataset/exchange/foreign_samples.hpp"
#include "dataset/exchange/import_dataset.hpp"
#include "dataset/make/phases.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

/// The names, or the dialects, of all formats.
std::vector<std::string> formats_in(std::string_view ExchangeFormat::*word) {
  std::vector<std::string> words;
  for (const ExchangeFormat& format : exchange_formats()) {
    if (!(format.*word).empty() && std::ranges::count(words, format.*word) == 0)
      words.emplace_back(format.*word);
  }
  return words;
}

void declare_format(core::Options& options) {
  std::vector<std::string> dialects;
  for (const ExchangeFormat& format : exchange_formats()) {
    if (!format.dialect.empty()) dialects.push_back(fmt::format("{} ({})", format.dialect, format.meaning));
  }
  options.add("format", std::nullopt, core::alternatives(formats_in(&ExchangeFormat::name)),
              formats_in(&ExchangeFormat::name));
  options.add("dialect", formats_in(&ExchangeFormat::dialect).front(),
              "layout of TFRecords: " + core::alternatives(dialects), formats_in(&ExchangeFormat::dialect));
}

const ExchangeFormat& chosen_format(const core::Options& options) {
  const std::string& name = options.choice("format");
  const bool dialects = std::ranges::any_of(exchange_formats(), [&](const ExchangeFormat& format) {
    return format.name == name && !format.dialect.empty();
  });
  ensure(dialects || !options.chosen("dialect"), Fault::config, "--format {} has no --dialect: leave it out.",
         name);
  return find_exchange_format(name, options.choice("dialect"));
}

/// Bytes that the threads of a rank work with: counts, what is made of them, and the file.
double memory_bytes(const SampleSpec& spec, const ExchangeFormat& format, int threads) {
  return static_cast<double>(spec.input.bytes() +
                             format.copies * spec.input.voxels() * voxel_bytes(format, spec.input.kind)) *
         threads;
}

/// The caller fills in the disk space that the files take.
core::Needs needs_of(const SampleSpec& spec, const ExchangeFormat& format, int threads) {
  const double memory = memory_bytes(spec, format, threads);
  return {.memory = core::resident_memory() + static_cast<std::uint64_t>(memory),
          .memory_cause = fmt::format("Samples of {} voxels need", fmt::join(spec.input.shape, " × ")),
          .memory_remedy = "choose fewer --threads",
          .disk_cause = "The samples to write"};
}

core::Report outline_of(const core::Request& request, std::uint64_t samples) {
  return {{{"config", request.config}, {"samples", samples}}, fmt::format("samples     {}\n", samples)};
}

/// "64 samples, 268 MB in 2 s: 32 samples/s, 134 MB/s"
std::string throughput(const Written& written, double seconds) {
  const auto bytes = static_cast<double>(written.bytes);
  return fmt::format("{} samples, {} in {}: {:.4g} samples/s, {}/s", written.samples,
                     core::format_bytes(bytes), core::format_duration(seconds),
                     static_cast<double>(written.samples) / seconds, core::format_bytes(bytes / seconds));
}

/// What a finished output holds.
Written all_of(const core::Manifest& existing, std::uint64_t samples) {
  Written all{samples, 0};
  for (const core::FileRecord& file : existing.files) all.bytes += file.bytes;
  return all;
}

}  // namespace

void declare_export(core::Options& options) {
  options.add("input DIR", std::nullopt, "directory that cosmo-prep shard or import wrote");
  declare_format(options);
}

namespace {

class ExportStage : public core::Stage {
 public:
  explicit ExportStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] {
      format_ = &chosen_format(run.options);
      input_ = run.options.text("input");
      dataset_ = load_dataset_manifest(input_);
      ensure(!dataset_.spec.target || format_->name == "npy", Fault::config,
             "{} has a target beside its counts, for which --format {} has no place: give --format npy.",
             input_, format_->name);
      ensure(
          !dataset_.spec.velocity, Fault::config,
          "{} has velocities beside its counts, for which exports have no place: export data of cosmo-prep shard "
          "without --velocity.",
          input_);
      check_fits(*format_, dataset_.spec.input.kind, dataset_.statistics.max_count);
      request = export_request(input_, dataset_, *format_, target);
    });
  }

  core::Needs needs(const core::Manifest& existing) override {
    core::Needs needs = needs_of(dataset_.spec, *format_, run.threads);
    const double all = export_bytes(dataset_, *format_);
    const auto samples = static_cast<double>(dataset_.samples());
    const auto written = std::ranges::count_if(existing.files, [](const core::FileRecord& file) {
      return file.path != kSampleTableName;  // which is not a sample's file
    });
    needs.disk = static_cast<std::uint64_t>(all);
    needs.disk_missing =
        static_cast<std::uint64_t>(all / samples * std::max(0.0, samples - static_cast<double>(written)));
    needs.disk_is_exact = !format_->compressed;
    return needs;
  }

  core::Report outline() override { return outline_of(request, dataset_.samples()); }

  core::Report make(core::OutputDirectory& output) override {
    const core::Timer timer;
    Written written;
    export_dataset(run.comm, run.log, output, input_, dataset_, *format_, written);
    output.finish(run.tool, request.foreseen->details, run.facts);
    written = {run.comm.sum(written.samples), run.comm.sum(written.bytes)};
    return {facts_of(output.manifest(), written),
            fmt::format("{}: {} as {}\n", target, throughput(written, timer.seconds()), title_of(*format_))};
  }

  core::Report found(const core::Manifest& existing) override { return {facts_of(existing, {}), ""}; }

 private:
  Json facts_of(const core::Manifest& existing, const Written& written) const {
    const Written all = all_of(existing, dataset_.samples());
    return {{"format", request.config},
            {"samples", all.samples},
            {"bytes", all.bytes},
            {"samples_written", written.samples},
            {"bytes_written", written.bytes}};
  }

  const ExchangeFormat* format_ = nullptr;
  std::string input_;
  DatasetManifest dataset_;
};

}  // namespace

void run_export(const core::Invocation& run) {
  ExportStage stage(run);
  core::run_stage(stage);
}

void declare_import(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("input DIR", std::nullopt,
              "directory of the samples: what cosmo-prep export wrote, or other files that --samples lists");
  declare_format(options);
  options.begin_group("Files that cosmo-prep export did not write");
  options.add(
      "samples FILE", std::nullopt,
      "CSV file with the columns file, simulation and, if the files have no labels, the parameters "
      "(docs/reference/formats.md); the others of this group, --samples-per-shard and --compress apply only with it");
  options.add("box LENGTH", std::nullopt,
              "side of a sample in Mpc/h; 731.43Mpc for one that does not scale with h");
  options.add("redshifts Z,...", "0", "redshifts of the samples' channels, separated by commas");
  options.add("redshift-space AXIS", std::nullopt,
              "x, y or z: the axis along which the samples are in redshift space [none: real space]",
              {"x", "y", "z"});
  options.add(
      "parameters NAMES", std::nullopt,
      "NAME or NAME=LOW:HIGH, separated by commas, with the range of the whole study; labels in [-1, 1] "
      "need ranges, and names in their order [the columns, from their smallest to largest value]");
  options.add("voxels", "counts", "counts (whole numbers, stored as uint16), or field (stored as float32)",
              {"counts", "field"});
  options.add("validation N", std::nullopt,
              "simulations for validation, if the table has no splits [a tenth, at least 1]");
  options.add("test N", std::nullopt,
              "simulations for the final test, if the table has no splits [a tenth, at least 1]");
  options.add("seed N", "1", "seed of the split and of the order of training samples");
  options.begin_group(core::kForExperts);
  options.add("samples-per-shard N", "64", "samples per file");
  options.add("compress", "none", "none, or gzip for shuffle + deflate 1", {"none", "gzip"});
  declare_allow_leak(options);
}

namespace {

/// "omega_m=0.25:0.35,sigma8": ranges that are not stated are empty.
core::ParameterSpace parse_parameters(const std::string& text) {
  core::ParameterSpace space;
  for (const std::string_view cell : core::cells_of(text, ',')) {
    const std::size_t equals = cell.find('=');
    const bool stated = equals != std::string_view::npos;
    const std::string_view range = stated ? cell.substr(equals + 1) : std::string_view();
    const std::size_t colon = range.find(':');
    ensure(equals > 0 && (!stated || colon != std::string_view::npos), Fault::usage,
           "--parameters has '{}' where NAME or NAME=LOW:HIGH is needed.", cell);
    space.names.emplace_back(core::trimmed(cell.substr(0, equals)));
    ensure(core::is_parameter_name(space.names.back()), Fault::usage,
           "--parameters has the name '{}': use letters, digits and _, at most 64 of them.",
           space.names.back());
    space.low.push_back(stated ? core::parse_number(range.substr(0, colon), "--parameters", text) : 0);
    space.high.push_back(stated ? core::parse_number(range.substr(colon + 1), "--parameters", text) : 0);
    ensure(!stated || space.low.back() < space.high.back(), Fault::usage,
           "--parameters has the empty range '{}': write LOW:HIGH with LOW below HIGH.", cell);
    ensure(std::ranges::count(space.names, space.names.back()) == 1, Fault::usage,
           "--parameters names {} twice: keep one.", space.names.back());
  }
  return space;
}

ForeignSettings read_settings(const core::Options& options) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto universes = [&](const std::string& name) {
    ensure_held_out(options, name);
    return static_cast<std::uint32_t>(options.given(name) ? options.integer(name, 1, kMost) : 0);
  };
  ensure(options.given("box"), Fault::usage, "--samples needs --box, the side of a sample in Mpc/h.");
  ForeignSettings settings;
  settings.directory = options.text("input");
  settings.table = options.text("samples");
  settings.box_size = core::parse_box_size(options.text("box"), "--box");
  settings.redshifts = options.numbers("redshifts");
  if (options.given("redshift-space")) settings.line_of_sight = options.choice("redshift-space");
  settings.kind = options.choice("voxels") == "counts" ? VoxelKind::counts : VoxelKind::field;
  if (options.given("parameters")) settings.parameters = parse_parameters(options.text("parameters"));
  settings.samples_per_shard = static_cast<std::uint32_t>(options.integer("samples-per-shard", 1, kMost));
  settings.validation = universes("validation");
  settings.test = universes("test");
  settings.compression = find_compression(options.choice("compress"));
  settings.seed = options.seed("seed");
  settings.allow_leak = options.flag("allow-leak");
  return settings;
}

/// What is to be imported, from an export or from files of other programs.
struct Import {
  core::Request request;
  DatasetManifest dataset;
  core::Json details;  ///< the stage's own fields of its manifest
  std::optional<Export> source;
  std::optional<ForeignPlan> plan;
};

Import plan_import(const core::Invocation& run, const ExchangeFormat& format, const std::string& target) {
  Import import;
  if (run.options.given("samples")) {
    ForeignSettings settings;
    run.comm.agree([&] { settings = read_settings(run.options); });
    import.plan = plan_foreign(run.comm, run.log, settings, format, target);
    import.request = import.plan->request;
    import.dataset = import.plan->manifest;
    import.details = import.dataset.details();
    import.request.check = dataset_check(import.dataset.origin);
    return import;
  }
  run.comm.agree([&] {
    const std::filesystem::path input = run.options.text("input");
    for (const char* name : {"box", "redshifts", "redshift-space", "parameters", "voxels",
                             "samples-per-shard", "validation", "test", "compress", "seed"}) {
      ensure(!run.options.chosen(name), Fault::config,
             "--{} applies only with --samples; an export already records it: leave it out.", name);
    }
    std::error_code error;
    ensure(!std::filesystem::is_directory(input, error) ||
               std::filesystem::exists(input / core::kManifestName, error),
           Fault::config,
           "{} is not an export of this toolkit, as it has no manifest.json: describe its files by --samples "
           "FILE.csv and --box.",
           input.string());
    import.source = load_export(input, format);
    import.request = import_request(*import.source, target);
    import.dataset = import.source->dataset;
    import.details = import.dataset.base.details;
    import.request.check = dataset_check(import.dataset.origin);
    refuse_leak(import.dataset.leak(), input.string(), run.options.flag("allow-leak"));
  });
  return import;
}

/// A remark on whether the shards of an imported export have their original bytes.
std::string remark_on(bool identical) {
  return identical ? "every shard has the bytes of the dataset that was exported\n"
                   : "the samples are those of the dataset that was exported; the files, of other versions, "
                     "differ\n";
}

class ImportStage : public core::Stage {
 public:
  explicit ImportStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] { format_ = &chosen_format(run.options); });
    import_ = plan_import(run, *format_, target);
    request = import_.request;
  }

  /// An export records the size of each shard; for other files it follows from the number of voxels.
  core::Needs needs(const core::Manifest& existing) override {
    core::Needs needs = needs_of(import_.dataset.spec, *format_, run.threads);
    needs.disk_is_exact = import_.source || import_.plan->manifest.origin.compression == Compression::none;
    const auto add = [&](const std::string& path, std::uint64_t bytes) {
      needs.disk += bytes;
      if (existing.find(path) == nullptr) needs.disk_missing += bytes;
    };
    if (import_.source) {
      for (const core::FileRecord& file : import_.dataset.base.files) add(file.path, file.bytes);
    } else {
      for (const ForeignShard& shard : import_.plan->shards)
        add(shard.path, shard.samples.size() * import_.dataset.spec.input.bytes());
    }
    return needs;
  }

  core::Report outline() override { return outline_of(request, import_.dataset.samples()); }

  core::Report make(core::OutputDirectory& output) override {
    const core::Timer timer;
    if (import_.source) import_dataset(run.comm, run.log, output, *import_.source, *format_);
    if (import_.plan) import_foreign(run.comm, run.log, output, *import_.plan, *format_);
    if (import_.plan && import_.dataset.seeds_assumed) {
      DatasetManifest written = import_.dataset;
      written.base.files = output.manifest().files;
      check_phases(run.comm, run.log, output.path(), written, run.options.flag("allow-leak"));
    }
    output.finish(run.tool, import_.details, run.facts);
    const Json facts = facts_of(output.manifest());
    const Written all = all_of(output.manifest(), import_.dataset.samples());
    core::Report report{facts, fmt::format("{}: {}\n", target, throughput(all, timer.seconds()))};
    if (import_.source) report.text += remark_on(facts.at("identical"));
    return report;
  }

  core::Report found(const core::Manifest& existing) override { return {facts_of(existing), ""}; }

 private:
  Json facts_of(const core::Manifest& existing) const {
    const Written all = all_of(existing, import_.dataset.samples());
    Json facts = import_.details;
    facts.update({{"samples", all.samples}, {"bytes", all.bytes}});
    if (import_.source) facts["identical"] = are_identical(existing, import_.dataset);
    return facts;
  }

  const ExchangeFormat* format_ = nullptr;
  Import import_;
};

}  // namespace

void run_import(const core::Invocation& run) {
  ImportStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::dataset
