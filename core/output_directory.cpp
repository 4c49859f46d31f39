#include "core/output_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <map>
#include <set>

#include "core/checksum.hpp"
#include "core/error.hpp"
#include "core/text_file.hpp"

namespace cosmo::core {

namespace {

namespace fs = std::filesystem;

constexpr const char* kJournalName = "journal.jsonl";
constexpr const char* kRunName = "run.json";
/// Locked a byte a unit by who makes it, and beyond the units while somebody reads or changes the journal or
/// the manifest.
constexpr const char* kLockName = ".lock";
constexpr std::int64_t kJournalByte = Slice::kEverything;

void ensure_written(bool good, const fs::path& path) {
  ensure(good, Fault::io, "{} cannot be written ({}): check free space and permissions.", path.string(),
         std::strerror(errno));
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  ensure(!error, Fault::io,
         "The directory {} cannot be created ({}): check permissions, and remove what is in its place.",
         path.string(), error.message());
}

/// Removes a file, if it is there.
void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  ensure(!error, Fault::io, "{} cannot be removed ({}): check permissions, or remove it yourself.",
         path.string(), error.message());
}

/// Makes the bytes of a file, or the entries of a directory, survive a crash.
void sync(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ensure_written(file >= 0, path);
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  ensure_written(synced, path);
}

/// Adds lines to a file and syncs it; whatever somebody left of a line there does not become part of them.
void append_lines(const fs::path& path, const std::string& lines) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  bool torn = false;
  if (file.tellg() > 0) {
    file.seekg(-1, std::ios::end);
    torn = file.get() != '\n';
  }
  write_text(path, (torn ? "\n" : "") + lines, std::ios::app);
  sync(path);
}

/// Removes what a killed run left of a file in the making; MPI-IO keeps others beside it.
void remove_leftovers(const fs::path& part) {
  const std::string name = part.filename().string();
  for (const auto& entry : fs::directory_iterator(part.parent_path())) {
    if (entry.path().filename().string().starts_with(name)) remove_file(entry.path());
  }
}

/// What a line of the journal notes, unless it is torn.
std::optional<FileRecord> record_in(const std::string& line) {
  try {
    return Json::parse(line).get<FileRecord>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
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

std::uint64_t available_disk(fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  const fs::space_info space = fs::space(path, error);  // of largest numbers if there is an error
  return space.capacity > 0 ? space.available : std::numeric_limits<std::uint64_t>::max();
}

OutputDirectory::OutputDirectory(const Communicator& comm, fs::path path, Request request)
    : comm_(comm), path_(std::move(path)) {
  manifest_.request = std::move(request);
}

Holding OutputDirectory::look(const Communicator& comm, fs::path path, Request request,
                              const Overwrite& overwrite) {
  OutputDirectory directory(comm, std::move(path), std::move(request));
  std::uint64_t leaving = 0;
  comm.agree([&] {
    if (comm.is_root()) leaving = directory.look(overwrite);
  });
  directory.share_state();
  return {std::move(directory.manifest_), comm.max(leaving)};
}

/// Takes over what open() would; returns the bytes of what that would remove.
std::uint64_t OutputDirectory::look(const Overwrite& overwrite) {
  if (!fs::exists(path_)) return 0;
  std::ifstream journal(path_ / kJournalName);  // opened before the manifest that replaces it
  const bool finished = fs::exists(path_ / kManifestName), begun = finished || journal.is_open();
  if (!begun) refuse_foreign_files();
  refuse_inputs();
  if (!begun) return 0;
  const Json found = finished ? read_manifest() : read_journal(std::move(journal));
  if (finished) {
    (void)adopt_manifest(found, overwrite);
  } else {
    adopt_journal(found, overwrite);
  }
  std::uint64_t bytes = 0;
  for (const fs::path& file : not_adopted(found)) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(file, error);
    if (!error) bytes += size;
  }
  return bytes;
}

OutputDirectory::OutputDirectory(const Communicator& comm, const Log& log, fs::path path, Request request,
                                 const Overwrite& overwrite, const Slice& slice)
    : OutputDirectory(comm, std::move(path), std::move(request)) {
  comm_.agree([&] {
    if (comm_.is_root()) open(log, overwrite, slice);
  });
  share_state();
}

/// Gives every rank what the root knows.
void OutputDirectory::share_state() {
  Json state;
  if (comm_.is_root()) {
    state = {{"files", manifest_.files}, {"details", manifest_.details}, {"up_to_date", up_to_date_}};
  }
  state = Json::parse(comm_.broadcast(state.dump()));
  manifest_.files = state.at("files");
  manifest_.details = state.at("details");
  up_to_date_ = state.at("up_to_date");
}

void OutputDirectory::open(const Log& log, const Overwrite& overwrite, const Slice& slice) {
  make_directory(path_);
  const auto has = [this](std::string_view name) { return fs::exists(path_ / name); };
  if (!has(kManifestName) && !has(kJournalName)) refuse_foreign_files();
  refuse_inputs();
  if (has(kManifestName) && ::access(path_.c_str(), W_OK) != 0) return open_read_only(overwrite);
  const Slice mine = overwrite.force ? Slice{} : slice;
  lock_.emplace(path_ / kLockName, ByteRange{mine.first, mine.last - mine.first});
  const FileLock guard = journal_lock();
  if (has(kManifestName)) {  // asked again: until now another process may have been writing
    open_manifest(log, overwrite);
  } else if (has(kJournalName)) {
    open_journal(log, overwrite);
  } else {
    begin_journal();
  }
}

FileLock OutputDirectory::journal_lock() const { return FileLock::wait(path_ / kLockName, kJournalByte); }

void OutputDirectory::refuse_inputs() const {
  for (const InputRecord& input : manifest_.request.inputs) {
    const fs::path directory = (path_ / input.path).parent_path();
    ensure(!fs::exists(directory) || !fs::equivalent(directory, path_), Fault::config,
           "{} is an input of this run: choose another --output.", path_.string());
  }
}

/// Runs `read`, which takes values out of the directory's manifest or journal.
void OutputDirectory::reading(std::string_view name, const std::function<void()>& read) const {
  try {
    read();
  } catch (const Json::exception&) {
    fail(Fault::format, "{} is damaged: remove the directory or choose another --output.",
         (path_ / name).string());
  }
}

Json OutputDirectory::read_manifest() const {
  const fs::path path = path_ / kManifestName;
  try {
    return read_json(path);
  } catch (const Error& error) {
    fail(error.fault(), "{} is damaged: remove the directory or choose another --output.", path.string());
  }
}

/// Whether other stages accept the manifest, and it is the one that the request foresees.
bool OutputDirectory::is_sound(const Json& found) const {
  const Request& request = manifest_.request;
  try {
    const Manifest manifest = parse_manifest(found, path_ / kManifestName, request.stage);
    return !request.foreseen ||
           (manifest.details == request.foreseen->details && covers(manifest.files, request.foreseen->files));
  } catch (const Error&) {
    return false;
  }
}

/// Takes over what the manifest lists; returns whether it is a sound one of this output and every file of it
/// is there.
bool OutputDirectory::adopt_manifest(const Json& found, const Overwrite& overwrite) {
  bool whole = false;
  reading(kManifestName, [&] {
    const std::vector<FileRecord> listed = found.at("files");
    const bool sound = is_sound(found);
    whole = adopt(found, overwrite, overwrite.force || !sound) && sound &&
            manifest_.files.size() == listed.size();
    up_to_date_ = whole && found.at("id") == manifest_.request.id() && found.value("complete", true);
  });
  if (whole) manifest_.details = found;
  return whole;
}

/// A finished output needs no writing to be recognised.
void OutputDirectory::open_read_only(const Overwrite& overwrite) {
  (void)adopt_manifest(read_manifest(), overwrite);
  ensure(up_to_date_, Fault::io, "{} cannot be written: check its permissions.", path_.string());
}

void OutputDirectory::open_manifest(const Log& log, const Overwrite& overwrite) {
  const Json found = read_manifest();
  if (adopt_manifest(found, overwrite)) {
    remove_file(path_ / kJournalName);  // of a run that was stopped after its manifest was published
    return;
  }
  // Files were lost, the manifest was altered, or the whole output is to be replaced: what is kept becomes a
  // journal, then the manifest goes.
  begin_journal();
  remove_file(path_ / kManifestName);
  remove_all_but_kept(found);
  log.info("{} is to be written again: {} of its {} files are kept", (path_ / kManifestName).string(),
           manifest_.files.size(), found.at("files").size());
}

/// The journal in the form of a manifest.
Json OutputDirectory::read_journal(std::ifstream journal) const {
  std::string line;
  std::getline(journal, line);
  Json found;
  reading(kJournalName, [&] {
    found = Json::parse(line);
    for (const char* key : {"stage", "config", "inputs", "id"}) (void)found.at(key);
  });
  std::map<std::string, FileRecord> files;  // a file that was made again is noted again
  while (std::getline(journal, line)) {
    if (const auto record = record_in(line)) files[record->path] = *record;
  }
  found["files"] = Json::array();
  for (const auto& [path, record] : files) found["files"].push_back(record);
  return found;
}

void OutputDirectory::adopt_journal(const Json& found, const Overwrite& overwrite) {
  reading(kJournalName, [&] { (void)adopt(found, overwrite, overwrite.force); });
}

void OutputDirectory::open_journal(const Log& log, const Overwrite& overwrite) {
  const Json found = read_journal(std::ifstream(path_ / kJournalName));
  adopt_journal(found, overwrite);
  begin_journal();
  remove_all_but_kept(found);
  log.info("continuing in {}: {} files are there", path_.string(), manifest_.files.size());
}

/// The listed files that were not taken over.
std::vector<fs::path> OutputDirectory::not_adopted(const Json& found) const {
  std::set<std::string_view> adopted;
  for (const FileRecord& record : manifest_.files) adopted.insert(record.path);
  std::vector<fs::path> files;
  for (const FileRecord& record : found.at("files").get<std::vector<FileRecord>>()) {
    if (!adopted.contains(record.path) && is_inside(record.path)) files.push_back(path_ / record.path);
  }
  return files;
}

void OutputDirectory::remove_all_but_kept(const Json& found) const {
  for (const fs::path& file : not_adopted(found)) remove_file(file);
}

void OutputDirectory::refuse_foreign_files() const {
  const bool empty =
      std::all_of(fs::directory_iterator(path_), fs::directory_iterator(), [](const auto& entry) {
        return entry.path().filename() == kLockName || entry.path().extension() == ".part";
      });
  const bool ours = fs::exists(path_ / kManifestName) || fs::exists(path_ / kJournalName);  // since a moment
  ensure(empty || ours, Fault::config,
         "The directory {} holds files that are no output of this toolkit: choose an empty or new --output.",
         path_.string());
}

/// Takes over the whole files of what was found; returns false if it was another output and is to be
/// replaced.
bool OutputDirectory::adopt(const Json& found, const Overwrite& overwrite, bool check_content) {
  const Request& request = manifest_.request;
  ensure(found.at("stage") == request.stage, Fault::config,
         "{} holds an output of the stage {}: choose another --output.", path_.string(),
         found.at("stage").dump());
  std::string difference;
  if (found.at("id") != request.id()) {
    difference = first_difference(found.at("config"), request.config, overwrite.extendable);
    const std::vector<InputRecord> inputs = found.at("inputs");
    const bool same_inputs =
        std::equal(inputs.begin(), inputs.end(), request.inputs.begin(), request.inputs.end(),
                   [](const auto& a, const auto& b) { return a.id == b.id; });
    if (difference.empty() && !same_inputs) difference = "the input is another one";
  }
  ensure(difference.empty() || overwrite.force, Fault::config,
         "{} holds another output ({}): choose another --output, or {}.", path_.string(), difference,
         overwrite.remedy);
  if (!difference.empty()) return false;
  manifest_.files = whole_files(found, check_content);
  refuse_precious_losses(found, overwrite);
  return true;
}

/// Called before anything in the directory is changed.
void OutputDirectory::refuse_precious_losses(const Json& found, const Overwrite& overwrite) const {
  if (overwrite.force || overwrite.precious.empty()) return;
  bool kept = false;
  fs::path missing;
  for (const FileRecord& record : found.at("files").get<std::vector<FileRecord>>()) {
    if (!record.path.starts_with(overwrite.precious)) continue;
    const fs::path path = path_ / record.path;
    const bool whole = manifest_.find(record.path) != nullptr;
    std::error_code error;
    ensure(whole || !fs::exists(path, error), Fault::format,
           "{} is damaged, it is not the {} bytes that were written: restore it, or give --force to go on "
           "without it.",
           path.string(), record.bytes);
    kept = kept || whole;
    if (!whole) missing = path;
  }
  ensure(kept || missing.empty(), Fault::format,
         "{} is missing, and there is no other to go on from: restore it, or give --force to begin again.",
         missing.string());
}

/// The listed files that are in the directory, with their size, and with their content if that is to be
/// checked.
std::vector<FileRecord> OutputDirectory::whole_files(const Json& found, bool check_content) const {
  auto files = found.at("files").get<std::vector<FileRecord>>();
  std::erase_if(files, [&](const FileRecord& record) {
    std::error_code error;
    if (!is_inside(record.path)) return true;
    if (fs::file_size(path_ / record.path, error) != record.bytes || error) return true;
    return check_content && sha256_of_file(path_ / record.path) != record.sha256;
  });
  return files;
}

/// Takes over what other processes have noted since.
void OutputDirectory::learn_from_others() {
  const bool finished = !fs::exists(path_ / kJournalName);
  const Json found = finished ? read_manifest() : read_journal(std::ifstream(path_ / kJournalName));
  reading(finished ? kManifestName : kJournalName, [&] { manifest_.files = whole_files(found, false); });
}

/// Replaces the journal by one that holds the request and the files known so far.
void OutputDirectory::begin_journal() const {
  const Request& request = manifest_.request;
  const Json head = {
      {"stage", request.stage}, {"config", request.config}, {"inputs", request.inputs}, {"id", request.id()}};
  std::string text = head.dump() + "\n";
  for (const FileRecord& record : manifest_.files) text += Json(record).dump() + "\n";
  write_text(part(kJournalName), text);
  seal(kJournalName);
}

fs::path OutputDirectory::part_path(const std::string& relative) const {
  return path_ / (relative + ".part");
}

fs::path OutputDirectory::part(const std::string& relative) const {
  const fs::path path = part_path(relative), whole = path_ / relative;
  make_directory(path.parent_path());
  remove_leftovers(path);
  ensure(!fs::is_directory(whole), Fault::io, "{} is a directory, where a file is to be written: remove it.",
         whole.string());
  return path;
}

FileRecord OutputDirectory::seal(const std::string& relative) const {
  const fs::path from = part_path(relative);
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
    const FileLock guard = journal_lock();
    const fs::path journal = path_ / kJournalName;
    if (!fs::exists(journal) || all.empty()) return;  // a manifest stands already and will be replaced
    std::string lines;
    for (const FileRecord& record : all) lines += Json(record).dump() + "\n";
    append_lines(journal, lines);
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

void OutputDirectory::add_text(const std::string& relative, const std::string& text) {
  add(relative, [&](const fs::path& path) { write_text(path, text); });
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
    const FileLock guard = journal_lock();
    publish(run_facts);
  });
  retired_.clear();
}

bool OutputDirectory::finish_if_all(const std::string& tool, const Json& run_facts) {
  const Foreseen& foreseen = manifest_.request.foreseen.value();
  manifest_.tool = tool;
  manifest_.details = foreseen.details;
  const auto all_there = [&] { return covers(manifest_.files, foreseen.files); };
  comm_.agree([&] {
    if (!comm_.is_root()) return;
    const FileLock guard = journal_lock();
    learn_from_others();
    std::sort(manifest_.files.begin(), manifest_.files.end(),
              [](const FileRecord& a, const FileRecord& b) { return a.path < b.path; });
    const bool published = !fs::exists(path_ / kJournalName);  // by another process
    if (all_there() && !published) publish(run_facts);
  });
  share_state();
  return all_there();
}

/// Replaces the journal by run.json and the manifest.
void OutputDirectory::publish(const Json& run_facts) {
  Json facts = run_facts;
  facts["finished_unix_s"] = std::time(nullptr);
  write_text(part(kRunName), facts.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  seal(kRunName);
  write_text(part(std::string(kManifestName)), Json(manifest_).dump(1) + "\n");
  seal(std::string(kManifestName));
  remove_file(path_ / kJournalName);
  for (const std::string& relative : retired_) remove_file(path_ / relative);
}

}  // namespace cosmo::core
