#include "core/output/journal.hpp"

#include <map>
#include <optional>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "core/file/input_file.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::core {

namespace {

/// The record in a line, unless the line is incomplete.
std::optional<FileRecord> record_in(const std::string& line) {
  try {
    return parse_json(line).get<FileRecord>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string lines_of(std::span<const FileRecord> records) {
  std::string lines;
  for (const FileRecord& record : records) lines += Json(record).dump() + "\n";
  return lines;
}

}  // namespace

void reading_record(const std::filesystem::path& path, const std::function<void()>& read) {
  try {
    read();
  } catch (const Json::exception&) {
    fail(Fault::format, "{} is damaged: remove the directory or choose another --output.", path.string());
  }
}

std::ifstream Journal::open() const {
  std::error_code ignored;
  if (std::filesystem::is_other(path(), ignored)) (void)ensure_readable(path());
  return std::ifstream(path());
}

Json Journal::read(std::ifstream journal) const {
  std::string line;
  std::getline(journal, line);
  Json found;
  reading_record(path(), [&] {
    found = parse_json(line);
    for (const char* key : {"stage", "config", "inputs", "id"}) (void)found.at(key);
  });
  std::map<std::string, FileRecord> files;  // a file made again is recorded again
  while (std::getline(journal, line)) {
    if (const auto record = record_in(line)) files[record->path] = *record;
  }
  found["files"] = Json::array();
  for (const auto& [path, record] : files) found["files"].push_back(record);
  return found;
}

void Journal::begin(const Request& request, std::span<const FileRecord> files) const {
  const Json head = {
      {"stage", request.stage}, {"config", request.config}, {"inputs", request.inputs}, {"id", request.id()}};
  const std::filesystem::path part = path().string() + ".part";
  remove_leftovers(part);
  write_text(part, head.dump() + "\n" + lines_of(files));
  publish_file(part, path());
}

void Journal::append(std::span<const FileRecord> records) const { append_lines(path(), lines_of(records)); }

void Journal::remove() const { remove_file(path()); }

}  // namespace cosmo::core
