#include "dataset/make/shard_publisher.hpp"

#include <cstdint>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/parallel/rounds.hpp"

namespace cosmo::dataset {

void publish_shards(const core::Communicator& comm, core::Progress& progress, core::OutputDirectory& output,
                    std::span<const std::string> paths, const WriteFile& write) {
  publish_shards(comm, core::Communicator::self(), progress, output, paths, write);
}

void publish_shards(const core::Communicator& comm, const core::Communicator& group, core::Progress& progress,
                    core::OutputDirectory& output, std::span<const std::string> paths,
                    const WriteFile& write) {
  std::future<core::FileRecord> sealing;
  std::vector<core::FileRecord> finished;
  const auto finish_sealing = [&] {
    if (sealing.valid()) finished.push_back(sealing.get());
  };
  const auto record = [&](std::size_t) {
    progress.advance(static_cast<std::int64_t>(comm.sum(std::uint64_t{finished.size()})));
    output.record(std::exchange(finished, {}));
  };
  std::optional<core::Error> ended;  // by a failure or a request to stop; the last file written is kept
  try {
    core::in_rounds(
        comm, group, paths.size(),
        [&](std::size_t i) {
          write(i, output.part(paths[i]));
          if (!group.is_root()) return;
          finish_sealing();
          sealing = std::async(std::launch::async, [&, i] { return output.seal(paths[i]); });
        },
        record);
  } catch (const core::Error& error) {
    if (!error.agreed()) throw;
    ended = error;
  }
  core::in_rounds(
      comm, static_cast<std::size_t>(comm.size()), [&](std::size_t) { finish_sealing(); }, record);
  if (ended) throw *ended;
}

}  // namespace cosmo::dataset
