#include "dataset/shard/dataset_manifest.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "dataset/quantity/target.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset {

using core::ensure;
using core::Fault;
using core::Json;

namespace {

void to_json(Json& json, const SplitRecord& record) {
  json = {{"simulations", record.simulations},
          {"seeds", record.seeds},
          {"samples", record.samples},
          {"shards", record.shards}};
}

void from_json(const Json& json, SplitRecord& record) {
  record = {json.at("simulations"), json.value("seeds", record.seeds), json.at("samples"), json.at("shards")};
}

void check_spec(const SampleSpec& spec, const std::string& source) {
  constexpr int kMostVoxels = 1 << 14;
  const auto positive = [](int n) { return n > 0 && n <= kMostVoxels; };
  const std::vector<int>& shape = spec.input.shape;
  ensure((shape.size() == 3 || shape.size() == 4) && std::all_of(shape.begin(), shape.end(), positive) &&
             std::equal(shape.end() - 2, shape.end(), shape.end() - 3),
         Fault::format, "{} has samples of shape ({}), which are not cubes: restore the file.", source,
         fmt::join(shape, ", "));
  ensure(spec.input.redshifts.size() == static_cast<std::size_t>(spec.input.channels()), Fault::format,
         "{} has {} redshifts for {} channels: restore the file.", source, spec.input.redshifts.size(),
         spec.input.channels());
  ensure(std::isfinite(spec.box_size.value) && spec.box_size.value > 0 && std::isfinite(spec.mean_count) &&
             (spec.mean_count > 0 || spec.input.kind == VoxelKind::field),
         Fault::format, "{} has a box of {} {} and {} particles per voxel: restore the file.", source,
         spec.box_size.value, name_of(spec.box_size.unit), spec.mean_count);
  ensure(spec.rolls >= 0 && spec.rolls <= kMostRolls, Fault::format,
         "{} has {} rolls of a universe: restore the file.", source, spec.rolls);
  ensure(spec.parameters.size() > 0 || spec.target, Fault::format, "{} names no parameter: restore the file.",
         source);
  for (std::size_t p = 0; p < spec.parameters.size(); ++p) {
    const double low = spec.parameters.low[p];
    const double high = spec.parameters.high[p];
    ensure(std::isfinite(low) && std::isfinite(high) && low < high, Fault::format,
           "{} has an empty range {}:{} of {}: restore the file.", source, low, high,
           spec.parameters.names[p]);
  }
}

void check_splits(const DatasetManifest& manifest, const std::string& source) {
  std::set<std::uint32_t> simulations;
  std::set<std::string_view> listed, shards;
  for (const core::FileRecord& file : manifest.base.files) listed.insert(file.path);
  for (std::size_t s = 0; s < kSplitNames.size(); ++s) {
    const SplitRecord& record = manifest.splits[s];
    const std::uint64_t cuts =
        manifest.subvolumes *
        (static_cast<Split>(s) == Split::train ? 1 + static_cast<std::uint64_t>(manifest.spec.rolls) : 1);
    ensure(record.shards.empty() == (record.samples == 0) &&
               record.samples == record.simulations.size() * cuts &&
               (record.samples > 0 || static_cast<Split>(s) != Split::test),
           Fault::format, "{} has {} samples of {} simulations in {} {} shards: restore the file.", source,
           record.samples, record.simulations.size(), record.shards.size(), kSplitNames[s]);
    ensure(record.seeds.empty() || record.seeds.size() == record.simulations.size(), Fault::format,
           "{} has {} seeds of {} {} simulations: restore the file.", source, record.seeds.size(),
           record.simulations.size(), kSplitNames[s]);
    for (const std::uint32_t simulation : record.simulations) {
      ensure(simulations.insert(simulation).second, Fault::format,
             "{} lists simulation {} twice: its splits are not independent, write the dataset again with "
             "--force.",
             source, simulation);
    }
    for (const std::string& shard : record.shards) {
      ensure(listed.contains(shard) && shards.insert(shard).second, Fault::format,
             "{} lists the shard {} twice or not among its files: restore the file.", source, shard);
    }
  }
  ensure(manifest.statistics.particles_in == manifest.statistics.particles_binned, Fault::format,
         "{} states that {} of {} particles were binned: write the dataset again with --force.", source,
         manifest.statistics.particles_binned, manifest.statistics.particles_in);
  ensure(manifest.spec.input.kind == VoxelKind::counts || manifest.field.is_finite(), Fault::format,
         "{} has no finite statistics of its field: restore the file.", source);
  for (const FieldStatistics& beside : {manifest.target, manifest.velocity}) {
    ensure(beside.voxels == 0 || beside.is_finite(), Fault::format,
           "{} has no finite statistics of a field beside its counts: restore the file.", source);
  }
  const auto finite = [](const ChannelRecord& channel) {
    const ChannelStatistics& training = channel.training;
    return training.values.is_finite() && std::isfinite(channel.lowest) &&
           (training.log1p.voxels == 0 || training.log1p.is_finite()) &&
           (training.log.voxels == 0 || training.log.is_finite());
  };
  ensure(manifest.channels.empty() ||
             (std::cmp_equal(manifest.channels.size(), manifest.spec.input.channels()) &&
              std::ranges::all_of(manifest.channels, finite)),
         Fault::format, "{} has no finite statistics of each of its {} channels: restore the file.", source,
         manifest.spec.input.channels());
}

Json to_object(const ShardOrigin& origin) {
  return {{"cut", origin.cut},
          {"samples_per_shard", origin.samples_per_shard},
          {"compress", name_of(origin.compression)}};
}

ShardOrigin to_origin(const Json& object, const std::string& source) {
  const ShardOrigin origin = {object.at("cut"), object.at("samples_per_shard"),
                              find_compression(object.at("compress").get<std::string>())};
  ensure(origin.samples_per_shard > 0, Fault::format, "{} has no samples per shard: restore the file.",
         source);
  return origin;
}

/// The origin in manifests of earlier versions and other programs, which only have the command's settings.
ShardOrigin origin_in_config(const Json& config) {
  constexpr std::uint64_t kOneShard = std::uint64_t{1} << 32;
  return {config.contains("subvolumes"), config.value("samples_per_shard", kOneShard),
          find_compression(config.value("compress", "none"))};
}

constexpr const char* kFieldType = "float32";  ///< "voxel_type" of fields; counts have no such key

Json statistics_of(const DatasetManifest& manifest) {
  if (manifest.spec.input.kind == VoxelKind::field) {
    Json statistics;
    to_json(statistics, manifest.field);
    if (manifest.channels.empty()) return statistics;
    for (const ChannelRecord& channel : manifest.channels)
      to_json(statistics["channels"].emplace_back(), channel);
    return statistics;
  }
  return {{"mean_count", manifest.spec.mean_count},
          {"max_count", manifest.statistics.max_count},
          {"particles_in", manifest.statistics.particles_in},
          {"particles_binned", manifest.statistics.particles_binned}};
}

void read_statistics(const Json& json, DatasetManifest& manifest) {
  if (manifest.spec.input.kind == VoxelKind::field) {
    const std::uint64_t voxels = manifest.split(Split::train).samples * manifest.spec.input.voxels();
    manifest.field = read_field_statistics(json, voxels);
    if (!json.contains("channels")) return;
    const auto of_channel = voxels / static_cast<std::uint64_t>(manifest.spec.input.channels());
    for (const Json& channel : json["channels"])
      manifest.channels.push_back(read_channel(channel, of_channel));
  } else {
    manifest.spec.mean_count = json.at("mean_count");
    manifest.statistics = {json.at("max_count"), json.at("particles_in"), json.at("particles_binned")};
  }
}

void read_target(const Json& json, const std::string& source, DatasetManifest& manifest) {
  std::vector<int> shape = manifest.spec.input.shape;
  if (shape.size() > 3) shape.erase(shape.begin());
  const std::string name = json.at("quantity");
  Quantity& target =
      manifest.spec.target.emplace(kind_of_target(name, source), shape, json.at("redshifts"), name);
  target.web = core::read_web(json);
  const std::uint64_t trained = manifest.split(Split::train).samples;
  if (trained > 0) manifest.target = read_field_statistics(json.at("statistics"), trained * target.voxels());
  if (target.kind != VoxelKind::classes || trained == 0) return;
  manifest.target.web.voxels =
      json.at("statistics").at("voxels").get<std::array<std::uint64_t, core::kWebClasses.size()>>();
  ensure(manifest.target.web.sum() == manifest.target.voxels, Fault::format,
         "{} states {} voxels of classes, of {}: restore the file.", source, manifest.target.web.sum(),
         manifest.target.voxels);
}

void read_velocity(const Json& json, DatasetManifest& manifest) {
  const Quantity& velocity =
      manifest.spec.velocity.emplace(velocity_quantity(manifest.spec.side(), json.at("redshift")));
  const std::uint64_t trained = manifest.split(Split::train).samples;
  if (trained > 0)
    manifest.velocity = read_field_statistics(json.at("statistics"), trained * velocity.voxels());
}

}  // namespace

std::uint64_t DatasetManifest::samples() const {
  std::uint64_t sum = 0;
  for (const SplitRecord& split : splits) sum += split.samples;
  return sum;
}

std::optional<Leak> DatasetManifest::leak() const {
  std::vector<Membership> members;
  for (std::size_t s = 0; s < splits.size(); ++s) {
    for (std::size_t i = 0; i < splits[s].seeds.size(); ++i) {
      members.push_back({splits[s].simulations[i], splits[s].seeds[i], static_cast<Split>(s)});
    }
  }
  return find_leak(members);
}

VoxelScale DatasetManifest::scale(Curve curve) const {
  if (spec.input.kind == VoxelKind::counts) return {spec.input.kind, spec.mean_count};
  if (curve == Curve::none && !scaled_by_channel()) return {spec.input.kind, field.mean, field.deviation};
  ensure(
      !channels.empty(), Fault::config,
      "--voxels by a logarithm needs the ranges of the channels, which the manifest of this dataset, of an "
      "earlier version or another program, lacks: repeat cosmo-prep import with --force, or give standard.");
  std::vector<ChannelScale> scales;
  for (const ChannelRecord& channel : channels) {
    const FieldStatistics& found = channel.training.under(curve);
    scales.push_back({found.mean, found.deviation});
  }
  if (scales.size() == 1) return {spec.input.kind, scales.front().mean, scales.front().deviation, curve};
  return {spec.input.kind, field.mean, field.deviation, curve, scales};
}

/// How many times larger than 1 an eigenvalue less the threshold of classes is to a network: classes change within less than a
/// tenth, and a network of smaller inputs needs many steps to learn so sharp an edge (docs/decisions/0036-cosmic-web.md).
constexpr double kClassEdge = 30;

VoxelTransform DatasetManifest::transform(std::string_view name, double smooth,
                                          const MadeBeside& beside) const {
  VoxelTransform made;
  if (spec.input.kind == VoxelKind::counts || !transform_is_for(name, spec.input.kind)) {
    made = find_voxel_transform(name, scale());
  } else {
    ensure_in_domain(name, channels);
    made = find_voxel_transform(name, scale(curve_of(name)));
  }
  const auto in_voxels = [&](const char* option, double length, const char* remark) {
    ensure(
        length > 0 && length <= spec.box_size.value / 4, Fault::config,
        "--{0} {1}{2} is not between 0 and a quarter of the box, {3} {4}: give --{0} a value in that range, or off.",
        option, length, remark, spec.box_size.value / 4, name_of(spec.box_size.unit));
    ensure(subvolumes == 1, Fault::config,
           "--{0} is for whole periodic boxes, and the samples of this dataset are sub-volumes: shard with "
           "--subvolumes 1, or give --{0} off.",
           option);
    return length / spec.voxel_size().value;
  };
  if (smooth != 0) made.smoothing = in_voxels("smooth", smooth, ", which --recipe robust has, too,");
  const auto of_one_channel = [&](const char* option, double length) {
    ensure(spec.input.channels() == 1, Fault::config,
           "--{0} is for counts at one redshift, and samples have {1} channels: give --{0} off.", option,
           spec.input.channels());
    return in_voxels(option, length, "");
  };
  if (beside.reconstruct != 0) made.reconstruction = of_one_channel("reconstruct", beside.reconstruct);
  if (beside.tides != 0) {
    made.tides = of_one_channel("tides", beside.tides);
    if (spec.target && spec.target->web) made.tides_map = {spec.target->web->threshold, kClassEdge};
  }
  return made;
}

Json DatasetManifest::details() const {
  Json split_records;
  for (std::size_t s = 0; s < kSplitNames.size(); ++s) {
    to_json(split_records[std::string(kSplitNames[s])], splits[s]);
  }
  Json json = {{"parameters", spec.parameters},     {"shape", spec.input.shape},
               {"redshifts", spec.input.redshifts}, {"subvolumes_per_simulation", subvolumes},
               {"splits", split_records},           {"statistics", statistics_of(*this)},
               {"origin", to_object(origin)}};
  if (spec.rolls > 0) json["rolls"] = spec.rolls;
  if (!spec.line_of_sight.empty()) json[core::kLineOfSightKey] = spec.line_of_sight;
  if (!spec.settings.empty()) json["settings"] = spec.settings;
  if (!joined.is_null()) json["joined"] = joined;
  if (seeds_assumed) json["seeds_assumed"] = true;
  if (const auto shared = leak()) json["leak"] = *shared;
  if (spec.target) {
    json["target"] = {{"quantity", spec.target->name}, {"redshifts", spec.target->redshifts}};
    if (target.voxels > 0) to_json(json["target"]["statistics"], target);
    if (spec.target->kind == VoxelKind::classes) {
      json["target"]["classes"] = core::kWebClasses;
      if (target.voxels > 0) json["target"]["statistics"]["voxels"] = target.web.voxels;
    }
    core::write_web(json["target"], spec.target->web);
  }
  if (spec.velocity) {
    json["velocity"] = {{"redshift", spec.velocity->redshifts.front()}};
    if (velocity.voxels > 0) to_json(json["velocity"]["statistics"], velocity);
  }
  if (spec.input.kind == VoxelKind::field) json["voxel_type"] = kFieldType;
  core::write_facts(json, facts);
  core::write_length(json, "box", spec.box_size);
  core::write_length(json, "voxel", spec.voxel_size());
  return json;
}

DatasetManifest parse_dataset_manifest(core::Manifest base, const std::string& source) {
  DatasetManifest manifest;
  manifest.base = std::move(base);
  const Json& json = manifest.base.details;
  core::reading_json(source, [&] {
    manifest.spec = {.parameters = json.at("parameters"),
                     .input = {json.contains("voxel_type") ? VoxelKind::field : VoxelKind::counts,
                               json.at("shape"), json.at("redshifts")},
                     .box_size = core::read_length(json, "box"),
                     .input_id = "",
                     .rolls = json.value("rolls", 0),
                     .line_of_sight = json.value(core::kLineOfSightKey, ""),
                     .settings = json.value("settings", std::vector<SettingColumn>())};
    core::check_line_of_sight(manifest.spec.line_of_sight, source);
    const std::string type = json.value("voxel_type", kFieldType);
    ensure(type == kFieldType, Fault::format, "{} has voxels of type {}: this version reads counts and {}.",
           source, type, kFieldType);
    manifest.subvolumes = json.at("subvolumes_per_simulation");
    manifest.origin = json.contains("origin") ? to_origin(json["origin"], source)
                                              : origin_in_config(manifest.base.request.config);
    for (std::size_t s = 0; s < kSplitNames.size(); ++s) {
      from_json(json.at("splits").at(std::string(kSplitNames[s])), manifest.splits[s]);
    }
    read_statistics(json.at("statistics"), manifest);
    if (json.contains("target")) read_target(json["target"], source, manifest);
    if (json.contains("velocity")) read_velocity(json["velocity"], manifest);
    manifest.facts = core::read_facts(json, source);
    manifest.joined = json.value("joined", Json());
    manifest.seeds_assumed = json.value("seeds_assumed", false);
  });
  const std::vector<core::InputRecord>& inputs = manifest.base.request.inputs;
  ensure(inputs.size() == (manifest.joined.is_null() ? 1 : manifest.joined.size()), Fault::format,
         "{} has {} inputs where {} expected.", source, inputs.size(),
         manifest.joined.is_null() ? "one suite is" : fmt::format("{} are", manifest.joined.size()));
  for (const core::InputRecord& input : inputs)
    manifest.spec.input_id += (manifest.spec.input_id.empty() ? "" : ",") + input.id;
  check_spec(manifest.spec, source);
  check_splits(manifest, source);
  return manifest;
}

std::function<void(const core::Manifest&)> dataset_check(const ShardOrigin& origin) {
  return [origin](const core::Manifest& manifest) {
    const std::string source(core::kManifestName);
    ensure(parse_dataset_manifest(manifest, source).origin == origin, Fault::format,
           "{} states another origin of its shards.", source);
  };
}

void ensure_held_out(const core::Options& options, const std::string& name) {
  ensure(
      !options.given(name) || options.text(name) != "0", Fault::config,
      "Option --{} is 0 and a data set needs at least 1: to predict universes without training on them, give them to "
      "cosmo-infer --input, which needs no labels, or make test data alone by cosmo-prep shard --test-for.",
      name);
}

void declare_allow_leak(core::Options& options) {
  options.add_flag(
      "allow-leak",
      "let splits share seeds, and so initial phases, for experiments with that: errors are then "
      "not those on unseen universes, as manifests and reports state");
}

namespace {

/// Reads the seeds from the shards, on every rank.
void read_seeds(const std::filesystem::path& directory, DatasetManifest& manifest) {
  for (SplitRecord& split : manifest.splits) {
    std::map<std::uint32_t, std::uint64_t> seeds;
    for (const std::string& path : split.shards) {
      core::read_checked(directory, *manifest.base.find(path), [&](const std::filesystem::path& file) {
        const ShardReader shard(file, manifest.spec);
        for (std::size_t row = 0; row < shard.size(); ++row)
          seeds[shard.sample(row).simulation] = shard.sample(row).seed;
      });
    }
    for (const std::uint32_t simulation : split.simulations) split.seeds.push_back(seeds[simulation]);
  }
}

}  // namespace

DatasetManifest load_dataset_manifest(const std::filesystem::path& directory) {
  DatasetManifest manifest = parse_dataset_manifest(core::load_manifest(directory, "shard"),
                                                    (directory / core::kManifestName).string());
  const bool told = std::ranges::all_of(
      manifest.splits, [](const auto& split) { return split.seeds.size() == split.simulations.size(); });
  if (!told) read_seeds(directory, manifest);
  return manifest;
}

}  // namespace cosmo::dataset
