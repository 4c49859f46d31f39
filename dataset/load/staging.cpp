#include "dataset/load/staging.hpp"

#include <unistd.h>

#include <system_error>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "core/file/files.hpp"
#include "core/timer.hpp"

namespace cosmo::dataset {

namespace fs = std::filesystem;
using core::ensure;
using core::Fault;

namespace {

bool is_there(const fs::path& path, const core::FileRecord& record) {
  std::error_code error;
  return fs::file_size(path, error) == record.bytes && !error && core::sha256_of_file(path) == record.sha256;
}

/// Copies under a name of this process's own, so that others may stage the same shard at the same time.
void copy_shard(const fs::path& from, const fs::path& to, const core::FileRecord& record) {
  const fs::path target = to / record.path;
  const fs::path part = fmt::format("{}.{}.part", target.string(), ::getpid());
  fs::create_directories(target.parent_path());
  std::error_code error;
  fs::copy_file(from / record.path, part, fs::copy_options::overwrite_existing, error);
  if (!error && is_there(part, record)) return fs::rename(part, target);
  std::error_code ignored;
  fs::remove(part, ignored);
  (void)core::check_content(from, record);
  fail(Fault::io, "{} cannot be copied to {} ({}): give --stage another disk, or leave it out.",
       (from / record.path).string(), to.string(), error ? error.message() : "the copy differs");
}

/// The dataset's own directory below `stage`.
fs::path staged_directory(const fs::path& stage, const DatasetManifest& manifest) {
  const std::size_t id_begin = std::string_view("sha256:").size();
  return stage / manifest.base.request.id().substr(id_begin, 16);
}

}  // namespace

void check_stage(const fs::path& stage, const DatasetManifest& manifest) {
  std::error_code error;
  const bool staged_before = fs::is_directory(staged_directory(stage, manifest), error);
  const bool free = !fs::exists(stage, error) || fs::is_directory(stage, error);
  ensure(staged_before || (free && core::may_write(stage)), Fault::io,
         "Nothing can be written below {} of --stage: give it another directory, or leave it out.",
         stage.string());
}

fs::path stage_shards(const core::Communicator& comm, const core::Log& log, const fs::path& directory,
                      const DatasetManifest& manifest, const std::vector<Split>& splits,
                      const fs::path& stage) {
  const core::Timer timer;
  const core::Communicator node = comm.node();
  fs::path staged = staged_directory(stage, manifest);
  std::vector<const core::FileRecord*> shards;
  for (const Split split : splits) {
    for (const std::string& path : manifest.split(split).shards) shards.push_back(manifest.base.find(path));
  }
  std::uint64_t copied = 0, kept = 0;
  comm.agree([&] {
    const auto first = static_cast<std::size_t>(node.rank()), step = static_cast<std::size_t>(node.size());
    for (std::size_t s = first; s < shards.size(); s += step) {
      const bool staged_before = is_there(staged / shards[s]->path, *shards[s]);
      if (!staged_before) copy_shard(directory, staged, *shards[s]);
      (staged_before ? kept : copied) += shards[s]->bytes;
    }
  });
  const double seconds = comm.max(timer.seconds());
  const auto all_copied = static_cast<double>(comm.sum(copied));
  log.info("staged {} in {} in {}, {}/s; {} were there", core::format_bytes(all_copied), staged.string(),
           core::format_duration(seconds), core::format_bytes(all_copied / seconds),
           core::format_bytes(static_cast<double>(comm.sum(kept))));
  return staged;
}

}  // namespace cosmo::dataset
