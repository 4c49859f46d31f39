#pragma once

#include <cstdint>
#include <string>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/parallel/communicator.hpp"

namespace cosmo::core {

/// Disk space for what a run is to write. [bytes]
struct DiskBill {
  std::uint64_t needed = 0;
  std::uint64_t available = 0;  ///< to the user, including what the run will remove

  bool is_covered() const { return needed <= available; }
};

/// The bill with the space that the root sees free at `target` plus `leaving`. Collective.
DiskBill disk_bill(const Communicator& comm, const std::string& target, std::uint64_t needed,
                   std::uint64_t leaving = 0);

/// "The shards to write need 3.00 GB and the disk of --output DIR has 1.00 GB free: choose another --output,
/// or make room." as an agreed Error{io}.
Error disk_shortage(const DiskBill& bill, const std::string& target, const std::string& what,
                    const std::string& remedy = "make room");

/// Unless the disk suffices, throws disk_shortage() if `refuse`, or else only warns of it.
void check_disk(const Log& log, const DiskBill& bill, const std::string& target, const std::string& what,
                bool refuse);

}  // namespace cosmo::core
