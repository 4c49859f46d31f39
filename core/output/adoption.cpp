#include "core/output/adoption.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/file/checksum.hpp"

namespace cosmo::core {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLongValue = "a long value";

/// A setting's value for a message: of something long, such as a network, its name. Checksums are long.
std::string shown(const Json& value) {
  constexpr std::size_t kLong = 64;
  if (value.is_number_float()) return fmt::format("{:.9g}", value.get<double>());
  std::string text = value.dump();
  if (text.size() <= kLong) return text;
  return value.is_object() && value.contains("name") ? value["name"].dump() : std::string(kLongValue);
}

/// How a setting differs, by what is shown of its two values.
std::string difference(const std::string& key, const std::string& there, const std::string& now) {
  if (there != now) return fmt::format("{} is {} there and {} now", key, there, now);
  return now == kLongValue ? fmt::format("{} differs", key) : fmt::format("{}, {}, differs", key, now);
}

/// The settings in which two configurations differ, as "key is A there and B now", up to four of them.
std::string differences(const Json& found, const Json& asked, const std::vector<std::string>& extendable) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> all;
  for (const auto& [key, value] : asked.items()) {
    if (std::find(extendable.begin(), extendable.end(), key) != extendable.end()) continue;
    if (!found.contains(key))
      all.push_back(fmt::format("{} is {} now and not set there", key, shown(value)));
    else if (found.at(key) != value)
      all.push_back(difference(key, shown(found.at(key)), shown(value)));
  }
  for (const auto& [key, value] : found.items()) {
    if (!asked.contains(key)) all.push_back(fmt::format("{} is {} there and not set now", key, shown(value)));
  }
  const std::size_t more = all.size() > kMost ? all.size() - kMost : 0;
  all.resize(all.size() - more);
  if (more > 0) all.push_back(fmt::format("{} more", more));
  return fmt::format("{}", fmt::join(all, "; "));
}

/// Why the found output is not the requested one; empty if it is.
std::string difference_of(const Json& found, const Request& request, const Overwrite& overwrite) {
  if (found.at("id") == request.id()) return "";
  const std::string difference = differences(found.at("config"), request.config, overwrite.extendable);
  const std::vector<InputRecord> inputs = found.at("inputs");
  const bool same_inputs =
      std::equal(inputs.begin(), inputs.end(), request.inputs.begin(), request.inputs.end(),
                 [](const auto& a, const auto& b) { return a.id == b.id; });
  return difference.empty() && !same_inputs ? "the input is different" : difference;
}

void refuse_precious_losses(const Found& found, const std::vector<FileRecord>& kept_files,
                            const Overwrite& overwrite) {
  if (overwrite.force || overwrite.precious.empty()) return;
  bool kept = false;
  fs::path missing;
  for (const FileRecord& record : found.record.at("files").get<std::vector<FileRecord>>()) {
    if (!record.path.starts_with(overwrite.precious)) continue;
    const fs::path path = found.directory / record.path;
    const bool whole = std::any_of(kept_files.begin(), kept_files.end(),
                                   [&](const FileRecord& file) { return file.path == record.path; });
    std::error_code error;
    ensure(whole || !fs::exists(path, error), Fault::format,
           "{} is damaged, it is not the {} bytes that were written: restore it, or give --force to continue "
           "without it.",
           path.string(), record.bytes);
    kept = kept || whole;
    if (!whole) missing = path;
  }
  ensure(kept || missing.empty(), Fault::format,
         "{} is missing, and there is no other to continue from: restore it, or give --force to start again.",
         missing.string());
}

}  // namespace

std::vector<FileRecord> Found::whole_files(bool check_content) const {
  auto files = record.at("files").get<std::vector<FileRecord>>();
  std::erase_if(files, [&](const FileRecord& file) {
    std::error_code error;
    if (!is_reached_inside(directory, file.path)) return true;
    if (fs::file_size(directory / file.path, error) != file.bytes || error) return true;
    return check_content && sha256_of_file(directory / file.path) != file.sha256;
  });
  return files;
}

std::vector<fs::path> Found::files_besides(const std::vector<FileRecord>& kept) const {
  std::set<std::string_view> names;
  for (const FileRecord& file : kept) names.insert(file.path);
  std::vector<fs::path> files;
  for (const FileRecord& file : record.at("files").get<std::vector<FileRecord>>()) {
    if (!names.contains(file.path) && is_reached_inside(directory, file.path))
      files.push_back(directory / file.path);
  }
  return files;
}

Adoption adopt(const Found& found, const Request& request, const Overwrite& overwrite, bool check_content) {
  ensure(found.record.at("stage") == request.stage, Fault::config,
         "{} holds an output of the stage {}: choose another --output.", found.directory.string(),
         found.record.at("stage").dump());
  const std::string difference = difference_of(found.record, request, overwrite);
  ensure(difference.empty() || overwrite.force, Fault::config,
         "{} holds another output ({}): choose another --output, or {}.", found.directory.string(),
         difference, overwrite.remedy);
  if (!difference.empty()) return {false, {}};
  const Adoption adoption = {true, found.whole_files(check_content)};
  refuse_precious_losses(found, adoption.files, overwrite);
  return adoption;
}

namespace {

bool has_details(const Manifest& manifest, const Foreseen& foreseen) {
  Json details = foreseen.details;
  bool same = manifest.details == details;
  for (auto earlier = foreseen.earlier.begin(); !same && earlier != foreseen.earlier.end(); ++earlier) {
    details = (*earlier)(std::move(details));
    same = manifest.details == details;
  }
  return same;
}

}  // namespace

bool is_sound(const Found& found, const Request& request) {
  try {
    const Manifest manifest = parse_manifest(found.record, found.directory / kManifestName, request.stage);
    request.check(manifest);
    if (!request.foreseen) return true;
    const Foreseen& foreseen = *request.foreseen;
    const bool has_texts = std::ranges::all_of(foreseen.texts, [&](const auto& text) {
      const FileRecord* record = manifest.find(text.first);
      return record != nullptr && record->sha256 == sha256(text.second());
    });
    return has_texts && has_details(manifest, foreseen) && covers(manifest.files, foreseen.files);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace cosmo::core
