#include "core/output/output_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <future>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/files.hpp"
#include "core/file/text_file.hpp"

namespace cosmo::core {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunName = "run.json";
/// Lock file with one byte per unit, locked by the process that makes the unit, and one byte beyond them,
/// locked while a process reads or changes the journal or the manifest.
constexpr const char* kLockName = ".lock";
constexpr std::int64_t kJournalByte = Slice::kEverything;

}  // namespace

OutputDirectory::OutputDirectory(const Communicator& comm, fs::path path, Request request)
    : comm_(comm), path_(std::move(path)), journal_(path_) {
  manifest_.request = std::move(request);
}

OutputState OutputDirectory::inspect(const Communicator& comm, fs::path path, Request request,
                                     const Overwrite& overwrite) {
  OutputDirectory directory(comm, std::move(path), std::move(request));
  std::uint64_t leaving = 0;
  comm.agree([&] {
    if (comm.is_root()) leaving = directory.inspect(overwrite);
  });
  directory.share_state();
  return {std::move(directory.manifest_), comm.max(leaving), directory.up_to_date_};
}

/// Takes over what open() would; returns the number of bytes that it would remove.
std::uint64_t OutputDirectory::inspect(const Overwrite& overwrite) {
  ensure_place_for(path_);
  if (!fs::exists(path_)) return 0;
  std::ifstream journal = journal_.open();  // before the manifest that replaces it
  const bool finished = fs::exists(path_ / kManifestName), begun = finished || journal.is_open();
  if (!begun) refuse_foreign_files();
  refuse_inputs();
  if (!begun) return 0;
  const Found found = found_here(finished ? read_manifest() : journal_.read(std::move(journal)));
  if (!finished && found.record.at("files").empty()) return 0;  // nothing was made: open() begins anew
  if (finished) {
    (void)adopt_manifest(found, overwrite);
  } else {
    adopt_journal(found, overwrite);
  }
  std::uint64_t bytes = 0;
  for (const fs::path& file : found.files_besides(manifest_.files)) {
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

/// Shares the root's state with every rank.
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
  if (has(kManifestName)) {  // checked again: another process may have been writing until now
    open_manifest(log, overwrite);
  } else if (has(kJournalName) && !(mine.is_everything() && journal_.read().at("files").empty())) {
    open_journal(log, overwrite);
  } else {  // nothing was made here, and no other process is making anything
    journal_.begin(manifest_.request, manifest_.files);
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

Json OutputDirectory::read_manifest() const {
  const fs::path path = path_ / kManifestName;
  try {
    return read_json(path);
  } catch (const Error& error) {
    fail(error.fault(), "{} is damaged: remove the directory or choose another --output.", path.string());
  }
}

/// Takes over what the manifest lists; returns whether it is a sound manifest of this output and all of its
/// files are there.
bool OutputDirectory::adopt_manifest(const Found& found, const Overwrite& overwrite) {
  bool whole = false;
  reading_record(path_ / kManifestName, [&] {
    const std::vector<FileRecord> listed = found.record.at("files");
    const bool sound = is_sound(found, manifest_.request);
    Adoption adoption = adopt(found, manifest_.request, overwrite, overwrite.force || !sound);
    manifest_.files = std::move(adoption.files);
    whole = adoption.same && sound && manifest_.files.size() == listed.size();
    up_to_date_ =
        whole && found.record.at("id") == manifest_.request.id() && found.record.value("complete", true);
  });
  if (whole) manifest_.details = found.record;
  return whole;
}

/// Accepts a finished output in a directory that cannot be written; throws for anything else.
void OutputDirectory::open_read_only(const Overwrite& overwrite) {
  (void)adopt_manifest(found_here(read_manifest()), overwrite);
  ensure(up_to_date_, Fault::io, "{} cannot be written: check its permissions.", path_.string());
}

void OutputDirectory::open_manifest(const Log& log, const Overwrite& overwrite) {
  const Found found = found_here(read_manifest());
  if (adopt_manifest(found, overwrite)) {
    if (journal_.exists()) remove_retired();
    return;
  }
  // Files were lost, the manifest was altered, or the whole output is to be replaced: what is kept goes into
  // a journal, then the manifest is removed.
  journal_.begin(manifest_.request, manifest_.files);
  remove_file(path_ / kManifestName);
  remove_all_but_kept(found);
  log.info("{} is to be written again: {} of its {} files are kept", (path_ / kManifestName).string(),
           manifest_.files.size(), found.record.at("files").size());
}

/// The journal was left by a run that was stopped while it published its manifest: files that it no longer lists go. A torn
/// journal lists none.
void OutputDirectory::remove_retired() const {
  try {
    reading_record(path_ / kJournalName, [&] { remove_all_but_kept(found_here(journal_.read())); });
  } catch (const Error& error) {
    if (error.fault() != Fault::format) throw;
  }
  journal_.remove();
}

void OutputDirectory::adopt_journal(const Found& found, const Overwrite& overwrite) {
  reading_record(path_ / kJournalName, [&] {
    manifest_.files = adopt(found, manifest_.request, overwrite, overwrite.force).files;
  });
}

void OutputDirectory::open_journal(const Log& log, const Overwrite& overwrite) {
  const Found found = found_here(journal_.read());
  adopt_journal(found, overwrite);
  journal_.begin(manifest_.request, manifest_.files);
  remove_all_but_kept(found);
  log.info("continuing in {}: {} files are there", path_.string(), manifest_.files.size());
}

void OutputDirectory::remove_all_but_kept(const Found& found) const {
  for (const fs::path& file : found.files_besides(manifest_.files)) remove_file(file);
}

void OutputDirectory::refuse_foreign_files() const {
  const bool empty =
      std::all_of(fs::directory_iterator(path_), fs::directory_iterator(), [](const auto& entry) {
        return entry.path().filename() == kLockName || entry.path().extension() == ".part";
      });
  const bool ours = fs::exists(path_ / kManifestName) || fs::exists(path_ / kJournalName);  // meanwhile
  ensure(empty || ours, Fault::config,
         "The directory {} holds files that are not output of this toolkit: choose an empty or new --output.",
         path_.string());
}

/// Takes over what other processes have recorded meanwhile.
void OutputDirectory::learn_from_others() {
  const bool finished = !journal_.exists();
  const Found found = found_here(finished ? read_manifest() : journal_.read());
  reading_record(path_ / (finished ? kManifestName : kJournalName),
                 [&] { manifest_.files = found.whole_files(false); });
}

fs::path OutputDirectory::part_path(const std::string& relative) const {
  return path_ / (relative + ".part");
}

/// Creates the folder of a file of this output, and removes what a killed run left there. Returns the file's path.
fs::path OutputDirectory::make_place(const std::string& relative) const {
  const fs::path whole = path_ / relative;
  ensure(is_reached_inside(path_, relative), Fault::io,
         "{} is reached through a link, and nothing is written outside of --output: remove the link.",
         whole.string());
  make_directory(whole.parent_path());
  remove_leftovers(part_path(relative));
  ensure(!fs::is_directory(whole), Fault::io, "{} is a directory, where a file is to be written: remove it.",
         whole.string());
  return whole;
}

fs::path OutputDirectory::part(const std::string& relative) const {
  make_place(relative);
  fs::path path = part_path(relative);
  const std::lock_guard lock(parts_.mutex);
  parts_.paths.insert(path);
  return path;
}

FileRecord OutputDirectory::link(const fs::path& from, const FileRecord& file) const {
  const FileState before = check_content(from, file);
  const fs::path to = make_place(file.path);
  remove_file(to);
  std::error_code error;
  fs::create_hard_link(fs::canonical(from / file.path), to, error);
  ensure_unchanged(from / file.path, before);
  if (!error) return file;
  error.clear();
  fs::copy_file(from / file.path, part(file.path), error);
  ensure(!error, Fault::io, "{} can be neither linked nor copied to {} ({}): check permissions and space.",
         (from / file.path).string(), to.string(), error.message());
  ensure_unchanged(from / file.path, before);
  return seal(file.path);
}

OutputDirectory::Parts::~Parts() {
  for (const fs::path& path : paths) {
    try {
      remove_leftovers(path);
    } catch (const std::exception&) {  // the next run removes it if possible
    }
  }
}

FileRecord OutputDirectory::seal(const std::string& relative) const {
  const fs::path from = part_path(relative);
  const fs::path to = path_ / relative;
  // Hashed while the disk is being written.
  auto hash = std::async(std::launch::async, [&] { return sha256_of_file(from); });
  sync(from);
  FileRecord record{relative, fs::file_size(from), hash.get()};
  publish_file(from, to);
  const std::lock_guard lock(parts_.mutex);
  parts_.paths.erase(from);
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
    if (!journal_.exists() || all.empty()) return;  // there is a manifest already, which will be replaced
    journal_.append(all);
  });
}

void OutputDirectory::add(const std::string& relative, const std::function<void(const fs::path&)>& write) {
  std::vector<FileRecord> records;
  comm_.agree([&] {
    if (!comm_.is_root()) return;
    const fs::path path = part(relative);
    try {
      write(path);
      records.push_back(seal(relative));
    } catch (const Error& error) {
      if (error.fault() != Fault::io) throw;
      remove_leftovers(path);
      fail(Fault::io,
           "{} cannot be written: free space on its disk, or check permissions; earlier files are as they "
           "were.",
           (path_ / relative).string());
    }
  });
  record(records);
}

void OutputDirectory::add_text(const std::string& relative, const std::string& text) {
  add(relative, [&](const fs::path& path) { write_text(path, text); });
}

void OutputDirectory::retire(const std::string& relative) {
  std::erase_if(manifest_.files, [&](const FileRecord& record) {
    if (record.path != relative) return false;
    retired_.push_back(record);
    return true;
  });
}

void OutputDirectory::finish(const std::string& tool, const Json& details, const Json& run_facts) {
  manifest_.tool = tool;
  manifest_.details = details;
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
    const bool published = !journal_.exists();  // by another process
    if (all_there() && !published) publish(run_facts);
  });
  share_state();
  return all_there();
}

/// Writes the files that follow from the request, replaces the journal with run.json and the manifest, and removes retired
/// files, which a journal lists until they are gone.
void OutputDirectory::publish(const Json& run_facts) {
  if (manifest_.request.foreseen) {
    for (const auto& [relative, text] : manifest_.request.foreseen->texts) {
      std::erase_if(manifest_.files, [&](const FileRecord& old) { return old.path == relative; });
      write_text(part(relative), text());
      manifest_.files.push_back(seal(relative));
    }
  }
  std::ranges::sort(manifest_.files, {}, &FileRecord::path);
  Json facts = run_facts;
  facts["finished_unix_s"] = std::time(nullptr);
  write_text(part(kRunName), facts.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  seal(kRunName);
  if (!retired_.empty() && !journal_.exists()) journal_.begin(manifest_.request, retired_);
  write_text(part(std::string(kManifestName)), Json(manifest_).dump(1) + "\n");
  seal(std::string(kManifestName));
  for (const FileRecord& record : retired_) remove_file(path_ / record.path);
  journal_.remove();
}

}  // namespace cosmo::core
