#include "train/gradient/replica_check.hpp"

#include "core/error.hpp"
#include "core/file/checksum.hpp"

namespace cosmo::train {

void ensure_equal_replicas(const core::Communicator& comm, std::span<const float> weights,
                           std::int64_t step) {
  if (comm.size() == 1) return;
  const std::string_view bytes(reinterpret_cast<const char*>(weights.data()), weights.size_bytes());
  const auto hashes = comm.gather(core::sha256(bytes));
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    throw core::Error(
        core::Fault::numeric,
        fmt::format("The weights of rank {} are not those of rank 0 after step {}: use the same "
                    "program on equal machines; finished epochs are kept.",
                    rank, step),
        true);
  }
}

}  // namespace cosmo::train
