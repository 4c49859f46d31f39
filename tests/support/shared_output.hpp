#pragma once
// An output directory that all ranks of a test see.

#include <filesystem>
#include <optional>
#include <string>

#include "core/output/output_directory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace cosmo::core {

inline const Log kSilent(false, true);

inline Request request(int steps = 10) { return {"generate", {{"steps", steps}, {"box_mpc_h", 512.0}}, {}}; }

/// A directory that all ranks see, removed by the root.
struct SharedDirectory {
  explicit SharedDirectory(const Communicator& comm) {
    if (comm.is_root()) own.emplace();
    path = comm.broadcast(own ? own->path().string() : std::string());
    path /= "out";
  }
  std::optional<TemporaryDirectory> own;
  std::filesystem::path path;
};

/// Writes a.txt and sub/b.txt, and the manifest if asked.
inline void produce(const Communicator& comm, const std::filesystem::path& path, bool finish,
                    const Request& what = request(), const Overwrite& overwrite = {}) {
  OutputDirectory output(comm, kSilent, path, what, overwrite);
  output.add_text("a.txt", "alpha");
  output.add_text("sub/b.txt", "beta");
  if (finish) output.finish("test", {{"simulations", 2}}, {{"host", "here"}});
}

}  // namespace cosmo::core
