#include "train/gradient/replica_check.hpp"

#include <sstream>

#include "core/error.hpp"
#include "core/file/checksum.hpp"
#include "nn/summary.hpp"

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

namespace {

/// One line per operation.
std::string lines_of(std::span<const nn::OperationRecord> operations) {
  std::string lines;
  for (const nn::OperationRecord& operation : operations)
    lines += fmt::format("{}, {}: {}\n", operation.layer, name_of(operation.phase), operation.implementation);
  return lines;
}

/// The lines at which two texts begin to differ.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream lines_a(a), lines_b(b);
  std::pair<std::string, std::string> lines;
  do {
    lines = {};
    std::getline(lines_a, lines.first);
    std::getline(lines_b, lines.second);
  } while (lines.first == lines.second && (lines_a || lines_b));
  return lines;
}

}  // namespace

void ensure_equal_kernels(const core::Communicator& comm, std::span<const nn::OperationRecord> operations) {
  const auto all = comm.gather(lines_of(operations));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const auto [own, other] = first_difference(all[0], all[rank]);
    throw core::Error(
        core::Fault::config,
        fmt::format("Ranks 0 and {} compute with different kernels ({}; {}): use machines of one "
                    "kind, or set ONEDNN_MAX_CPU_ISA to what all of them have.",
                    rank, own, other),
        true);
  }
}

}  // namespace cosmo::train
