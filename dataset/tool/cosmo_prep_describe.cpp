#include "dataset/tool/cosmo_prep_describe.hpp"

#include "core/error.hpp"
#include "core/picture/png.hpp"
#include "dataset/measure/portrait.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

constexpr int kMostSamples = 6;

/// The file that --png names; in a directory samples.png.
std::filesystem::path image_path(const std::filesystem::path& asked) {
  std::error_code error;
  const bool directory = std::filesystem::is_directory(asked, error) || asked.extension() != ".png";
  return directory ? asked / "samples.png" : asked;
}

void write_image(const core::Canvas& canvas, const std::filesystem::path& image) {
  core::check_replaceable(image);
  if (image.has_parent_path()) std::filesystem::create_directories(image.parent_path());
  core::publish_png(image, [&](const auto& part) { canvas.write_png(part); });
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

}  // namespace

void declare_describe(core::Options& options) {
  options.add_positional("directory", "directory that cosmo-prep shard or import wrote");
  options.add("png", std::nullopt,
              "draw a few samples, as projected slices and as the distribution of their voxels' values, both "
              "logarithmic: FILE.png, or a directory for samples.png");
  options.add("samples", "3", "samples to draw, 1 to 6, from train, validation and test in turn");
}

void add_provenance(const std::filesystem::path& directory, const DatasetManifest& dataset, Json& summary,
                    std::string& text) {
  const std::filesystem::path path = directory / core::kManifestName;
  core::reading_json(path.string(), [&] {
    const Json code = core::read_json(path).at("code");
    const core::InputRecord& input = dataset.base.request.inputs.front();
    summary["code"] = code;
    summary["config"] = dataset.base.request.config;
    summary["input"] = input;
    text += fmt::format("settings    {}\nmade by     {} {} ({})\nmade of     {} ({})\nid          {}\n",
                        settings_of(dataset.base.request.config), code.at("name").get<std::string>(),
                        code.at("version").get<std::string>(), code.at("git").get<std::string>(), input.path,
                        input.id, dataset.base.request.id());
  });
}

void add_picture(const core::Invocation& run, const std::filesystem::path& directory,
                 const DatasetManifest& dataset, Json& summary, std::string& text) {
  if (!run.options.given("png")) return;
  const std::filesystem::path image = image_path(run.options.text("png"));
  run.comm.agree([&] {
    const auto samples = static_cast<int>(run.options.integer("samples", 1, kMostSamples));
    if (!run.comm.is_root()) return;
    write_image(portrait(dataset, choose_sitters(directory, dataset, samples)), image);
  });
  summary["png"] = image.string();
  text += fmt::format("picture     {}\n", image.string());
}

}  // namespace cosmo::dataset
