#include "core/output_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace cosmo::core {

namespace {

namespace fs = std::filesystem;

constexpr const char* kJournalName = "journal.jsonl";
constexpr const char* kRunName = "run.json";
constexpr const char* kLockName = ".lock";

void ensure_written(bool good, const fs::path& path) {
  ensure(good, Fault::io, "{} cannot be written ({}): check free space and permissions.", path.string(),
         std::strerror(errno));
}

/// Makes the bytes of a file, or the entries of a directory, survive a crash.
void sync(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ensure_written(file >= 0, path);
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  ensure_written(synced, path);
}

void write_text(const fs::path& path, const std::string& text, std::ios::openmode mode) {
  std::ofstream file(path, std::ios::binary | mode);
  file << text;
  file.flush();
  ensure_written(file.good(), path);
  file.close();
  sync(path);
}

/// The first setting in which two configurations differ, as "key is A here and B in the request".
std::string first_difference(const Json& found, const Json& asked,
                             const std::vector<std::string>& extendable) {
  for (const auto& [key, value] : asked.items()) {
    if (std::find(extendable.begin(), extendable.end(), key) != extendable.end()) continue;
    if (!found.contains(key)) return fmt::format("{} is unknown there", key);
    if (found.at(key) != value)
      return fmt::format("{} is {} there and {} now", key, found.at(key).dump(), value.dump());
  }
  for (const auto& [key, value] : found.items()) {
    if (!asked.contains(key)) return fmt::format("{} is {} there and not set now", key, value.dump());
  }
  return "";
}

}  // namespace

OutputDirectory::OutputDirectory(const Communicator& comm, const Log& log, fs::path path, Request request,
                                 const Overwrite& overwrite)
    : comm_(comm), path_(std::move(path)) {
  manifest_.request = std::move(request);
  comm_.agree([&] {
    if (comm_.is_root()) open(log, overwrite);
  });
  Json state;
  if (comm_.is_root()) {
    state = {{"files", manifest_.files}, {"details", manifest_.details}, {"up_to_date", up_to_date_}};
  }
  state = Json::parse(comm_.broadcast(state.dump()));
  manifest_.files = state.at("files");
  manifest_.details = state.at("details");
  up_to_date_ = state.at("up_to_date");
}

void OutputDirectory::open(const Log& log, const Overwrite& overwrite) {
  std::error_code error;
  fs::create_directories(path_, error);
  ensure(!error, Fault::io, "The directory {} cannot be created ({}): check --output.", path_.string(),
         error.message());
  lock_.emplace(path_ / kLockName);
  const fs::path manifest_path = path_ / kManifestName;
  const fs::path journal_path = path_ / kJournalName;
  if (fs::exists(manifest_path)) {
    const Json found = read_json(manifest_path);
    reading_json(manifest_path.string(), [&] { adopt(found, "manifest.json", overwrite); });
    up_to_date_ = !manifest_.files.empty() && manifest_.details.value("complete", true) &&
                  found.at("id") == manifest_.request.id();
  } else if (fs::exists(journal_path)) {
    std::ifstream journal(journal_path);
    std::string line;
    std::getline(journal, line);
    Json found = Json::parse(line, nullptr, false);
    if (found.is_discarded()) {  // torn while it was begun: nothing had been written yet
      fs::remove(journal_path);
    } else {
      found["files"] = Json::array();
      while (std::getline(journal, line)) {
        const Json record = Json::parse(line, nullptr, false);
        if (!record.is_discarded()) found["files"].push_back(record);  // a torn last line is no record
      }
      reading_json(journal_path.string(), [&] { adopt(found, kJournalName, overwrite); });
      log.info("continuing in {}: {} files are there", path_.string(), manifest_.files.size());
    }
  } else {
    const bool empty =
        std::all_of(fs::directory_iterator(path_), fs::directory_iterator(), [](const auto& entry) {
          return entry.path().filename() == kLockName || entry.path().extension() == ".part";
        });
    ensure(
        empty, Fault::config,
        "The directory {} holds files that are no output of this toolkit: choose an empty or new --output.",
        path_.string());
  }
  if (!fs::exists(manifest_path) && !fs::exists(journal_path)) begin_journal();
}

void OutputDirectory::adopt(const Json& found, const std::string& where, const Overwrite& overwrite) {
  const Request& request = manifest_.request;
  std::string difference;
  if (found.contains("id") && found.at("id") != request.id()) {
    if (found.at("stage") != request.stage) {
      difference = fmt::format("stage is {} there and \"{}\" now", found.at("stage").dump(), request.stage);
    } else {
      difference = first_difference(found.at("config"), request.config, overwrite.extendable);
      const std::vector<InputRecord> inputs = found.at("inputs");
      const bool same_inputs =
          std::equal(inputs.begin(), inputs.end(), request.inputs.begin(), request.inputs.end(),
                     [](const auto& a, const auto& b) { return a.id == b.id; });
      if (difference.empty() && !same_inputs) difference = "the input is another one";
    }
  }
  manifest_.files = found.at("files").get<std::vector<FileRecord>>();
  if (!difference.empty()) {
    ensure(overwrite.force, Fault::config,
           "{} holds another output ({}): choose another --output, or --force to replace it.", path_.string(),
           difference);
    clear();
    return;
  }
  std::erase_if(manifest_.files, [&](const FileRecord& record) {
    std::error_code error;
    if (fs::file_size(path_ / record.path, error) != record.bytes || error) return true;
    return overwrite.force && sha256_of_file(path_ / record.path) != record.sha256;
  });
  const bool whole = manifest_.files.size() == found.at("files").size();
  if (where == kManifestName) {
    manifest_.details = found;
    if (!whole) {  // files were lost or damaged: what is left becomes a journal again
      fs::remove(path_ / kManifestName);
      begin_journal();
      manifest_.details["complete"] = false;
    }
  }
}

void OutputDirectory::clear() {
  fs::remove(path_ / kManifestName);
  for (const FileRecord& record : manifest_.files) {
    const fs::path relative(record.path);
    if (relative.is_relative() && std::find(relative.begin(), relative.end(), "..") == relative.end()) {
      fs::remove(path_ / relative);
    }
  }
  fs::remove(path_ / kJournalName);
  manifest_.files.clear();
}

void OutputDirectory::begin_journal() const {
  const Request& request = manifest_.request;
  append_to_journal({{"stage", request.stage},
                     {"config", request.config},
                     {"inputs", request.inputs},
                     {"id", request.id()}});
  for (const FileRecord& record : manifest_.files) append_to_journal(record);
}

void OutputDirectory::append_to_journal(const Json& line) const {
  write_text(path_ / kJournalName, line.dump() + "\n", std::ios::app);
}

fs::path OutputDirectory::part(const std::string& relative) const {
  const fs::path path = path_ / (relative + ".part");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  ensure(!error, Fault::io, "The directory {} cannot be created ({}).", path.parent_path().string(),
         error.message());
  return path;
}

FileRecord OutputDirectory::seal(const std::string& relative) const {
  const fs::path from = path_ / (relative + ".part");
  const fs::path to = path_ / relative;
  sync(from);
  FileRecord record{relative, fs::file_size(from), sha256_of_file(from)};
  ensure_written(std::rename(from.c_str(), to.c_str()) == 0, to);
  sync(to.parent_path());
  return record;
}

void OutputDirectory::record(std::span<const FileRecord> records) {
  const Json mine = std::vector<FileRecord>(records.begin(), records.end());
  std::vector<FileRecord> all;
  for (const std::string& text : comm_.gather(mine.dump())) {
    for (const FileRecord& record : Json::parse(text).get<std::vector<FileRecord>>()) all.push_back(record);
  }
  for (const FileRecord& record : all) {
    std::erase_if(manifest_.files, [&](const FileRecord& old) { return old.path == record.path; });
    manifest_.files.push_back(record);
  }
  comm_.agree([&] {
    if (!comm_.is_root()) return;
    if (!fs::exists(path_ / kJournalName)) return;  // a manifest stands already and will be replaced
    for (const FileRecord& record : all) append_to_journal(record);
  });
}

void OutputDirectory::add(const std::string& relative, const std::function<void(const fs::path&)>& write) {
  std::vector<FileRecord> records;
  comm_.agree([&] {
    if (!comm_.is_root()) return;
    write(part(relative));
    records.push_back(seal(relative));
  });
  record(records);
}

void OutputDirectory::retire(const std::string& relative) {
  std::erase_if(manifest_.files, [&](const FileRecord& record) { return record.path == relative; });
  retired_.push_back(relative);
}

void OutputDirectory::finish(const std::string& tool, const Json& details, const Json& run_facts) {
  manifest_.tool = tool;
  manifest_.details = details;
  std::sort(manifest_.files.begin(), manifest_.files.end(),
            [](const FileRecord& a, const FileRecord& b) { return a.path < b.path; });
  comm_.agree([&] {
    if (!comm_.is_root()) return;
    write_text(part(kRunName), run_facts.dump(1) + "\n", std::ios::trunc);
    seal(kRunName);
    write_text(part(std::string(kManifestName)), Json(manifest_).dump(1) + "\n", std::ios::trunc);
    seal(std::string(kManifestName));
    fs::remove(path_ / kJournalName);
    for (const std::string& relative : retired_) fs::remove(path_ / relative);
  });
  retired_.clear();
}

}  // namespace cosmo::core
