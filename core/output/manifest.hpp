#pragma once
// manifest.json: what an output directory holds, what it was made from, and how to recognise it.
//
// {"schema": "cosmo.manifest/1", "stage": "...", "id": "sha256:...", "code": {name, version, git},
//  "config": {...}, "inputs": [{path, id, sha256}], "files": [{path, bytes, sha256}], ...the stage's
//  details}
//
// id = SHA-256 of the canonical JSON of {schema, stage, config, ids of the inputs}: the same request has the
// same id on any machine and any number of ranks. Paths are relative to the directory.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/file/file_state.hpp"
#include "core/format/json.hpp"

namespace cosmo::core {

inline constexpr std::string_view kManifestName = "manifest.json";

struct FileRecord {
  std::string path;  ///< relative to the output directory
  std::uint64_t bytes;
  std::string sha256;
};

/// An output of another stage that this one was made from.
struct InputRecord {
  std::string path;  ///< path of its manifest, relative to the output directory
  std::string id;
  std::string sha256;  ///< SHA-256 of its manifest.json
};

/// The part of its finished manifest that a stage can predict before it begins.
struct Foreseen {
  std::vector<std::string> files;
  Json details;  ///< all of the stage's own top-level fields
  /// What earlier versions recorded of the same output, if that was not the same: each maps `details` as the one before it left
  /// them, the first those of this version, to those of an earlier one.
  std::vector<Json (*)(Json details)> earlier = {};
  /// Files that follow from the request alone, and are written with the manifest once all others are there.
  std::map<std::string, std::function<std::string()>> texts = {};
};

struct Manifest;

/// What a stage was asked to make: everything that determines the content of an output directory.
struct Request {
  std::string stage;
  Json config;
  std::vector<InputRecord> inputs;
  std::optional<Foreseen> foreseen = {};  ///< follows from the other members
  /// Throws if a manifest of this request lacks any of the stage's own fields that later stages read.
  std::function<void(const Manifest&)> check = [](const Manifest&) {};

  std::string id() const;  ///< "sha256:...", computed from stage, config and inputs
};

/// The content of manifest.json.
struct Manifest {
  Request request;
  std::string tool;  ///< name of the program that wrote it
  std::vector<FileRecord> files;
  Json details = Json::object();  ///< the stage's own top-level fields
  std::string sha256 = {};        ///< SHA-256 of the manifest.json that it was loaded from

  const FileRecord* find(std::string_view path) const;
};

/// Whether all of these files are among the records.
bool covers(const std::vector<FileRecord>& records, const std::vector<std::string>& files);

/// Whether a recorded path stays inside its output directory; other paths are never followed.
bool is_inside(const std::filesystem::path& path);

/// Whether a recorded path stays inside `directory`, and no folder on the way to it is a symbolic link.
bool is_reached_inside(const std::filesystem::path& directory, const std::filesystem::path& path);

void to_json(Json& json, const FileRecord& record);
void from_json(const Json& json, FileRecord& record);
void to_json(Json& json, const InputRecord& record);
void from_json(const Json& json, InputRecord& record);
void to_json(Json& json, const Manifest& manifest);

/// Parses a manifest from `json`, the content of `path`. Throws Error{format} naming the file if it has
/// another schema or stage, or does not match its id. Does not look at its files.
Manifest parse_manifest(const Json& json, const std::filesystem::path& path, std::string_view stage);

/// Reads DIRECTORY/manifest.json and checks its schema, stage, id and the sizes of its files, but for the file `except`.
/// Throws Error{io} naming the file if it is missing, Error{format} if anything disagrees.
Manifest load_manifest(const std::filesystem::path& directory, std::string_view stage,
                       std::string_view except = {});

/// The path from the directory `output` to `path`.
std::filesystem::path seen_from(const std::filesystem::path& output, const std::filesystem::path& path);

/// The record of the manifest in `directory` as an input of the output in `output`.
InputRecord input_record(const std::filesystem::path& directory, const Manifest& manifest,
                         const std::filesystem::path& output);

/// Throws Error{io} if a file of a directory with a manifest is missing, Error{format} if it has another size
/// or lies outside the directory.
void check_size(const std::filesystem::path& directory, const FileRecord& record);

/// Reads the manifest that load_manifest() loaded from the directory once more. Throws Error{format} if it is another by now.
Json reread_manifest(const std::filesystem::path& directory, const Manifest& manifest);
inline void ensure_same_manifest(const std::filesystem::path& directory, const Manifest& manifest) {
  (void)reread_manifest(directory, manifest);
}

/// Throws Error{format} naming the file unless its bytes are the recorded ones. Returns its state before they were read.
FileState check_content(const std::filesystem::path& directory, const FileRecord& record);

/// Calls read(path) on a file whose bytes are the recorded ones, and returns its result. Throws as check_content(), and
/// Error{format} naming the file if it has been changed or replaced by then.
template <class Read>
auto read_checked(const std::filesystem::path& directory, const FileRecord& record, const Read& read) {
  const std::filesystem::path path = directory / record.path;
  const FileState before = check_content(directory, record);
  if constexpr (std::is_void_v<decltype(read(path))>) {
    read(path);
    ensure_unchanged(path, before);
  } else {
    auto result = read(path);
    ensure_unchanged(path, before);
    return result;
  }
}

/// A manifest that lists a file.
struct Listing {
  std::filesystem::path directory;
  FileRecord record;  ///< the file's
  Json manifest;
};

/// The manifests that list a file, in its own directory and in that above: OUTPUT/FILE, or SUITE/sim-00000/FILE. Throws as
/// read_json() does, and Error{format} for a manifest without files.
std::vector<Listing> listings_of(const std::filesystem::path& path);

/// If a file is still in the output it belongs to (OUTPUT/FILE, or SUITE/sim-00000/FILE), compares its
/// content with the manifest, as check_content() does: HDF5 itself may crash on a damaged file. Returns
/// whether there was a record to compare with.
bool check_in_suite(const std::filesystem::path& path);

}  // namespace cosmo::core
