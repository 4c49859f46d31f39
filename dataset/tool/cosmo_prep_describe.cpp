#include "dataset/tool/cosmo_prep_describe.hpp"

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/picture/image_file.hpp"
#include "dataset/measure/sample_picture.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

constexpr int kMostSamples = 6;

/// The file that --svg names, or samples.svg in the directory that it names. Throws Error{usage}.
std::filesystem::path image_path(const std::filesystem::path& asked) {
  std::error_code error;
  if (std::filesystem::is_directory(asked, error)) return asked / "samples.svg";
  ensure(asked.extension() == ".svg" || !asked.has_extension(), Fault::usage,
         "--svg {} does not end in .svg: give FILE.svg or a directory.", asked.string());
  return asked.has_extension() ? asked : asked / "samples.svg";
}

void write_image(const std::filesystem::path& image, const std::string& content) {
  core::check_replaceable(image, core::kSvg, "--svg");
  if (image.has_parent_path()) std::filesystem::create_directories(image.parent_path());
  core::publish_image(image, content);
}

/// "seed 1, subvolumes 2", in the order of the names.
std::string settings_of(const Json& config) {
  std::string text;
  for (const auto& [name, value] : config.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

Json summary_of(const DatasetManifest& manifest) {
  Json summary = manifest.details();
  std::uint64_t bytes = 0;
  for (const core::FileRecord& file : manifest.base.files) bytes += file.bytes;
  summary["id"] = manifest.base.request.id();
  summary["bytes"] = bytes;
  return summary;
}

/// Lines of the voxels of a field, and of its channels if there are several.
std::string describe_field(const DatasetManifest& manifest) {
  const auto line = [](const std::string& name, const FieldStatistics& field) {
    return fmt::format("{:<11} voxels from {:.6g} to {:.6g}, mean {:.6g}, deviation {:.6g}\n", name,
                       field.minimum, field.maximum, field.mean, field.deviation);
  };
  std::string text = line("training", manifest.field);
  for (std::size_t c = 0; manifest.scaled_by_channel() && c < manifest.channels.size(); ++c)
    text += line(fmt::format("  channel {}", c), manifest.channels[c].training.values);
  return text;
}

std::string describe_target(const DatasetManifest& manifest) {
  const Quantity& target = *manifest.spec.target;
  const bool classes = target.kind == VoxelKind::classes;
  std::string text = fmt::format("target      {}, {} voxels, {}", target.name, fmt::join(target.shape, " × "),
                                 classes ? "uint8 classes" : "a float32 field");
  if (target.web)
    text += fmt::format(" of radius {} Mpc/h and threshold {}", target.web->radius, target.web->threshold);
  if (manifest.target.voxels > 0 && classes) return text + ": " + manifest.target.web.text() + "\n";
  if (manifest.target.voxels > 0)
    text += fmt::format(", mean {:.4g}, deviation {:.4g}", manifest.target.mean, manifest.target.deviation);
  return text + "\n";
}

std::string describe_velocity(const DatasetManifest& manifest) {
  std::string text = "velocity    mean of the particles in each voxel along x, y and z, float32";
  if (manifest.velocity.voxels > 0)
    text += fmt::format(", deviation {:.4g} km/s", manifest.velocity.deviation);
  return text + "\n";
}

std::string describe(const DatasetManifest& manifest) {
  std::string text =
      fmt::format("{:<11} {:>11} {:>8} {:>7} {:>10}\n", "split", "simulations", "samples", "shards", "size");
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const SplitRecord& record = manifest.split(split);
    double bytes = 0;
    for (const std::string& path : record.shards)
      bytes += static_cast<double>(manifest.base.find(path)->bytes);
    text += fmt::format("{:<11} {:>11} {:>8} {:>7} {:>10}\n", name_of(split), record.simulations.size(),
                        record.samples, record.shards.size(), core::format_bytes(bytes));
  }
  const SampleSpec& spec = manifest.spec;
  if (spec.rolls > 0) {
    text += fmt::format(
        "rolls       {} of each training universe beside itself: new cuts, no new universes\n", spec.rolls);
  }
  if (spec.input.redshifts != std::vector<double>{0}) {
    text += fmt::format("redshifts   {}\n", fmt::join(spec.input.redshifts, ", "));
  }
  if (!spec.line_of_sight.empty()) text += "space       " + core::describe_space(spec.line_of_sight) + "\n";
  const bool counts = spec.input.kind == VoxelKind::counts;
  text += fmt::format("sample      {} voxels of {:.6g} {}, {}\n", fmt::join(spec.input.shape, " × "),
                      spec.voxel_size().value, name_of(spec.box_size.unit),
                      counts ? "uint16 counts" : "a float32 field");
  if (spec.target) text += describe_target(manifest);
  if (spec.velocity) text += describe_velocity(manifest);
  for (std::size_t p = 0; p < spec.parameters.size(); ++p) {
    text += fmt::format("{:<11} {:g} to {:g}\n", spec.parameters.names[p], spec.parameters.low[p],
                        spec.parameters.high[p]);
  }
  for (const SettingColumn& column : spec.settings) {
    const auto fact = manifest.facts.find(column.name);  // known if it is known of all
    const std::string values = column.texts.empty() ? "differs" : core::alternatives(column.texts);
    text += fmt::format("{:<11} {}, no label\n", column.name,
                        fact == manifest.facts.end() ? values : fact->second.text());
  }
  if (!counts) return text + describe_field(manifest);
  return text + fmt::format("counts      mean {:.6g}, largest {}, {} of {} particles binned\n",
                            spec.mean_count, manifest.statistics.max_count,
                            manifest.statistics.particles_binned, manifest.statistics.particles_in);
}

/// Adds what made the dataset, from what and how. Throws Error{format}.
void add_provenance(const std::filesystem::path& directory, const DatasetManifest& dataset,
                    core::Report& report) {
  const std::filesystem::path path = directory / core::kManifestName;
  core::reading_json(path.string(), [&] {
    const Json code = core::read_json(path).at("code");
    const std::vector<core::InputRecord>& inputs = dataset.base.request.inputs;
    report.facts["code"] = code;
    report.facts["config"] = dataset.base.request.config;
    report.facts["input"] = inputs.front();
    report.facts["inputs"] = inputs;
    report.text += fmt::format("settings    {}\nmade by     {} {} ({})\n",
                               settings_of(dataset.base.request.config), code.at("name").get<std::string>(),
                               code.at("version").get<std::string>(), code.at("git").get<std::string>());
    for (const core::InputRecord& input : inputs)
      report.text += fmt::format("made of     {} ({})\n", input.path, input.id);
    report.text += fmt::format("id          {}\n", dataset.base.request.id());
  });
}

/// Draws a few samples if --svg asks for it, on the root rank, and reports the file. Collective.
/// Throws Error{config} rather than replace anything but an SVG image, Error{io} or Error{format}.
void add_picture(const core::Invocation& run, const std::filesystem::path& directory,
                 const DatasetManifest& dataset, core::Report& report) {
  if (!run.options.given("svg")) return;
  std::filesystem::path image;
  run.comm.agree([&] {
    image = image_path(run.options.text("svg"));
    const auto samples = static_cast<int>(run.options.integer("samples", 1, kMostSamples));
    if (!run.comm.is_root()) return;
    write_image(image, sample_picture(dataset, choose_samples(directory, dataset, samples)));
  });
  report.facts["svg"] = image.string();
  report.text += fmt::format("picture     {}\n", image.string());
}

}  // namespace

core::Report report_of(const DatasetManifest& manifest) { return {summary_of(manifest), describe(manifest)}; }

void declare_describe(core::Options& options) {
  options.add_positional("directory", "directory that cosmo-prep shard or import wrote");
  options.add(
      "svg FILE|DIR", std::nullopt,
      "draw a few samples, as projected slices and as the distribution of their voxels' values: FILE.svg, or a directory for samples.svg");
  options.add("samples N", "3", "samples to draw, 1 to 6, from train, validation and test in turn");
}

void run_describe(const core::Invocation& run) {
  const std::string& directory = run.options.text("directory");
  core::Report report;
  DatasetManifest manifest;
  run.comm.agree([&] {
    manifest = load_dataset_manifest(directory);
    report = report_of(manifest);
    add_provenance(directory, manifest, report);
  });
  add_picture(run, directory, manifest, report);
  run.report(report.facts, report.text);
}

}  // namespace cosmo::dataset
