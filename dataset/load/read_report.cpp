#include "dataset/load/read_report.hpp"

#include <algorithm>

#include "core/log.hpp"

namespace cosmo::dataset {

core::Json ReadReport::to_json() const {
  return {{"data_wait_seconds", waited},
          {"data_wait_fraction", waited_share()},
          {"data_bytes_read", bytes},
          {"read_bytes_per_s_needed", needed},
          {"read_bytes_per_s_measured", measured}};
}

std::string ReadReport::describe() const {
  return fmt::format(
      "waited for data {:.1f} % of the time; a rank needs {}/s of the shards and can read {}/s\n",
      100 * waited_share(), core::format_bytes(needed), core::format_bytes(measured));
}

ReadReport report_reading(const core::Communicator& comm, const Reading& whole, const Reading& steps,
                          int readers) {
  const double computing = steps.seconds - steps.statistics.waited;
  const double needed = computing > 0 ? static_cast<double>(steps.statistics.bytes) / computing : 0;
  const ReadStatistics& all = whole.statistics;
  const double measured =
      all.bytes == 0 ? 0 : std::max(1, readers) * static_cast<double>(all.bytes) / all.reading;
  return {whole.seconds, comm.max(all.waited), comm.sum(all.bytes), comm.sum(needed) / comm.size(),
          comm.sum(measured) / comm.size()};
}

}  // namespace cosmo::dataset
