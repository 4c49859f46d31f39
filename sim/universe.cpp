#include "sim/universe.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_grid.hpp"

namespace cosmo::sim {

namespace {

/// Writes the files of one universe; every member is collective over its group.
class UniverseFiles {
 public:
  UniverseFiles(const core::Communicator& group, const core::OutputDirectory& output,
                const SimulationConfig& config, const core::SimulationRecord& record, int count_cells)
      : group_(group),
        output_(output),
        config_(config),
        record_(record),
        count_grid_{count_cells, config.box_size} {}

  void add(const Output& output) {
    const auto files = std::find_if(record_.outputs.begin(), record_.outputs.end(),
                                    [&](const auto& file) { return file.redshift == output.redshift; });
    if (!files->counts.empty()) add_counts(files->counts, output);
    add_power(output.redshift, output.power);
  }

  /// Rows for the table that finish() publishes.
  void add_power(double redshift, const fourier::PowerSpectrum& power) {
    for (std::size_t bin = 0; bin < power.k.size(); ++bin) {
      table_ +=
          fmt::format("{},{:.9g},{:.9g},{}\n", redshift, power.k[bin], power.power[bin], power.modes[bin]);
    }
  }

  void finish() {
    if (record_.power_spectrum.empty()) return;
    add_file(record_.power_spectrum, [&](const auto& part) {
      group_.agree([&] {
        if (group_.is_root()) write_table(part);
      });
    });
  }

  std::vector<core::FileRecord> take_records() { return std::move(records_); }

 private:
  void write_table(const std::filesystem::path& path) const {
    std::ofstream file(path);
    file << "redshift,k_h_mpc,power_mpc3_h3,modes\n" << table_ << std::flush;
    core::ensure(file.good(), core::Fault::io, "{} cannot be written ({}): check free space and permissions.",
                 path.string(), std::strerror(errno));
  }

  /// Lets all ranks write the file that the root then publishes.
  void add_file(const std::string& path, const std::function<void(const std::filesystem::path&)>& write) {
    std::filesystem::path part;
    group_.agree([&] { part = output_.part(path); });
    write(part);
    group_.agree([&] {
      if (group_.is_root()) records_.push_back(output_.seal(path));
    });
  }

  void add_counts(const std::string& path, const Output& output) {
    const auto counts = histogram::count_particles(group_, count_grid_, output.particles.x());
    const histogram::CountFileHeader header{count_grid_, output.redshift, record_.seed, record_.cosmology,
                                            config_.particle_grid().cells()};
    add_file(path, [&](const auto& part) { histogram::write_counts(group_, part, header, counts); });
  }

  const core::Communicator& group_;
  const core::OutputDirectory& output_;
  const SimulationConfig& config_;
  const core::SimulationRecord& record_;
  core::GridSpec count_grid_;
  std::string table_;
  std::vector<core::FileRecord> records_;
};

}  // namespace

std::vector<core::FileRecord> make_universe(const core::Communicator& group,
                                            const core::OutputDirectory& output, SimulationConfig config,
                                            const core::SimulationRecord& record, int count_cells,
                                            const std::function<void(const Step&)>& step) {
  config.cosmology = record.cosmology;
  config.seed = record.seed;
  UniverseFiles files(group, output, config, record, count_cells);
  Observers observers;
  observers.step = step;
  observers.initial = [&](const auto& power) { files.add_power(config.z_initial, power); };
  observers.output = [&](const Output& now) { files.add(now); };
  simulate(group, config, observers);
  files.finish();
  return files.take_records();
}

}  // namespace cosmo::sim
