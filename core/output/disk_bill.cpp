#include "core/output/disk_bill.hpp"

#include <algorithm>

#include "core/file/files.hpp"

namespace cosmo::core {

DiskBill disk_bill(const Communicator& comm, const std::string& target, std::uint64_t needed,
                   std::uint64_t leaving) {
  const std::uint64_t free = comm.max(comm.is_root() ? available_disk(target) : 0);
  return {needed, free + std::min(leaving, ~free)};
}

Error disk_shortage(const DiskBill& bill, const std::string& target, const std::string& what,
                    const std::string& remedy) {
  return Error(
      Fault::io,
      fmt::format("{} need {} and the disk of --output {} has {} free: choose another --output, or {}.", what,
                  format_bytes(static_cast<double>(bill.needed)), target,
                  format_bytes(static_cast<double>(bill.available)), remedy),
      true);
}

void check_disk(const Log& log, const DiskBill& bill, const std::string& target, const std::string& what,
                bool refuse) {
  if (bill.is_covered()) return;
  const Error shortage = disk_shortage(bill, target, what);
  if (refuse) throw shortage;
  log.warn("{}", shortage.what());
}

}  // namespace cosmo::core
