#include "core/output/manifest.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/version.hpp"

namespace cosmo::core {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "cosmo.manifest/1";
const std::vector<std::string> kCommonKeys = {"schema", "stage", "id", "code", "config", "inputs", "files"};

/// ", which cosmo-prep shard makes" for the stage shard; empty for one that no user makes.
std::string maker_of(std::string_view stage) {
  constexpr std::array<std::array<std::string_view, 2>, 4> kMakers = {{{"generate", "cosmo-sim generate"},
                                                                       {"shard", "cosmo-prep shard"},
                                                                       {"train", "cosmo-train"},
                                                                       {"infer", "cosmo-infer --data"}}};
  const auto row = std::ranges::find(kMakers, stage, [](const auto& maker) { return maker[0]; });
  return row == kMakers.end() ? "" : fmt::format(", which {} makes", (*row)[1]);
}

/// Throws Error{io}: the directory has no manifest.
[[noreturn]] void refuse_unfinished(const fs::path& directory) {
  if (!fs::exists(directory))
    throw Error(Fault::io, fmt::format("{} does not exist: check the path.", directory.string()));
  const fs::path parent = fs::absolute(directory / ".").parent_path().parent_path();
  throw Error(Fault::io,
              fmt::format("{} does not exist: {} is not a finished output; {}.",
                          (directory / kManifestName).string(), directory.string(),
                          fs::exists(parent / kManifestName) ? "give the directory that it is in"
                                                             : "rerun the stage that produces it"));
}

}  // namespace

bool is_inside(const fs::path& path) {
  return !path.empty() && path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

bool is_reached_inside(const fs::path& directory, const fs::path& path) {
  if (!is_inside(path)) return false;
  std::error_code error;
  fs::path folder = directory;
  for (const fs::path& part : path.parent_path()) {
    folder /= part;
    if (fs::is_symlink(folder, error)) return false;
  }
  return true;
}

std::string Request::id() const {
  Json input_ids = Json::array();
  for (const InputRecord& input : inputs) input_ids.push_back(input.id);
  const Json canonical = {{"schema", kSchema}, {"stage", stage}, {"config", config}, {"inputs", input_ids}};
  return "sha256:" + sha256(canonical.dump());
}

const FileRecord* Manifest::find(std::string_view path) const {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const FileRecord& f) { return f.path == path; });
  return found == files.end() ? nullptr : &*found;
}

bool covers(const std::vector<FileRecord>& records, const std::vector<std::string>& files) {
  std::set<std::string_view> recorded;
  for (const FileRecord& record : records) recorded.insert(record.path);
  return std::all_of(files.begin(), files.end(), [&](const auto& file) { return recorded.contains(file); });
}

void to_json(Json& json, const FileRecord& record) {
  json = {{"path", record.path}, {"bytes", record.bytes}, {"sha256", record.sha256}};
}
void from_json(const Json& json, FileRecord& record) {
  record = {json.at("path"), json.at("bytes"), json.at("sha256")};
}
void to_json(Json& json, const InputRecord& record) {
  json = {{"path", record.path}, {"id", record.id}, {"sha256", record.sha256}};
}
void from_json(const Json& json, InputRecord& record) {
  record = {json.at("path"), json.at("id"), json.at("sha256")};
}

void to_json(Json& json, const Manifest& manifest) {
  json = manifest.details;
  json["schema"] = kSchema;
  json["stage"] = manifest.request.stage;
  json["id"] = manifest.request.id();
  json["code"] = {{"name", manifest.tool}, {"version", version()}, {"git", git_commit()}};
  json["config"] = manifest.request.config;
  json["inputs"] = manifest.request.inputs;
  json["files"] = manifest.files;
}

Manifest parse_manifest(const Json& json, const fs::path& path, std::string_view stage) {
  Manifest manifest;
  reading_json(path.string(), [&] {
    ensure(json.at("schema") == kSchema, Fault::format, "{} has schema {}: this version reads {}.",
           path.string(), json.at("schema").dump(), kSchema);
    ensure(json.at("stage") == stage, Fault::format, "{} is of stage {}: give a directory of stage '{}'{}.",
           path.string(), json.at("stage").dump(), stage, maker_of(stage));
    manifest.request = {json.at("stage"), json.at("config"), json.at("inputs")};
    manifest.tool = json.at("code").at("name");
    manifest.files = json.at("files");
    std::set<std::string> paths;
    for (const FileRecord& file : manifest.files) {
      ensure(paths.insert(file.path).second, Fault::format,
             "{} lists {} twice: it was altered, rerun its stage with --force.", path.string(), file.path);
    }
    ensure(json.at("id") == manifest.request.id(), Fault::format,
           "{} does not match its id: it was altered, rerun its stage with --force.", path.string());
    manifest.details = json;
    for (const std::string& key : kCommonKeys) manifest.details.erase(key);
  });
  return manifest;
}

Manifest load_manifest(const fs::path& directory, std::string_view stage, std::string_view except) {
  const fs::path path = directory / kManifestName;
  if (!fs::exists(path)) refuse_unfinished(directory);
  const std::string text = read_json_text(path);
  Manifest manifest = parse_manifest(parse_json_file(text, path), path, stage);
  manifest.sha256 = sha256(text);
  for (const FileRecord& record : manifest.files) {
    if (record.path != except) check_size(directory, record);
  }
  return manifest;
}

fs::path seen_from(const fs::path& output, const fs::path& path) {
  return fs::absolute(path).lexically_normal().lexically_relative(fs::absolute(output).lexically_normal() /
                                                                  "");
}

InputRecord input_record(const fs::path& directory, const Manifest& manifest, const fs::path& output) {
  ensure(!manifest.sha256.empty(), Fault::internal, "The manifest of {} was not loaded from it.",
         directory.string());
  return {(seen_from(output, directory) / kManifestName).lexically_normal().string(), manifest.request.id(),
          manifest.sha256};
}

Json reread_manifest(const fs::path& directory, const Manifest& manifest) {
  const fs::path path = directory / kManifestName;
  const std::string text = read_json_text(path);
  ensure(sha256(text) == manifest.sha256, Fault::format,
         "{} was replaced while it was read: run the command again when nothing writes there.",
         path.string());
  return parse_json_file(text, path);
}

void check_size(const fs::path& directory, const FileRecord& record) {
  const fs::path path = directory / record.path;
  ensure(is_inside(record.path), Fault::format,
         "{} names the file '{}' outside its directory: restore the manifest.",
         (directory / kManifestName).string(), record.path);
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  ensure(!error, Fault::io, "{} is missing: restore it or rerun the stage that made it.", path.string());
  ensure(bytes == record.bytes, Fault::format,
         "{} has {} bytes and its manifest records {}: it is truncated or altered, restore it or rerun its "
         "stage with --force.",
         path.string(), bytes, record.bytes);
}

FileState check_content(const fs::path& directory, const FileRecord& record) {
  check_size(directory, record);
  const fs::path path = directory / record.path;
  const FileState before = state_of(path);
  ensure(sha256_of_file(path) == record.sha256, Fault::format,
         "{} differs from its manifest's sha256: it is damaged, restore it or rerun its stage with --force.",
         path.string());
  return before;
}

std::vector<Listing> listings_of(const fs::path& path) {
  const fs::path own = fs::absolute(path).lexically_normal().parent_path();
  std::vector<Listing> listings;
  for (const fs::path& directory : {own, own.parent_path()}) {
    const fs::path manifest = directory / kManifestName;
    if (!fs::exists(manifest)) continue;
    const Json json = read_json(manifest);
    reading_json(manifest.string(), [&] {
      for (const FileRecord& record : json.at("files").get<std::vector<FileRecord>>()) {
        std::error_code error;
        if (fs::equivalent(directory / record.path, path, error))
          listings.push_back({directory, record, json});
      }
    });
  }
  return listings;
}

bool check_in_suite(const fs::path& path) {
  const std::vector<Listing> listings = listings_of(path);
  for (const Listing& listing : listings) (void)check_content(listing.directory, listing.record);
  return !listings.empty();
}

}  // namespace cosmo::core
