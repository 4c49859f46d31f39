#include "sim/tool/universe.hpp"

#include <algorithm>

#include "core/file/text_file.hpp"
#include "core/universe/snapshot.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_grid.hpp"
#include "sim/suite/measure_table.hpp"
#include "sim/suite/power_table.hpp"

namespace cosmo::sim {

namespace {

/// Gathers what a simulation measures. Outputs are added from the earliest on and listed from the latest on; bins
/// that one of the spectra lacks are left out of all.
class Measurements {
 public:
  void set_initial(const fourier::PowerSpectrum& initial, const LinearPower& linear) {
    table_.k = initial.k;
    table_.modes = initial.modes;
    table_.initial = initial.power;
    for (const double k : initial.k) table_.input.push_back(linear(k));
  }
  void add(const Output& output) {
    table_.outputs.insert(table_.outputs.begin(), {output.redshift, output.power.power});
    correlations_.insert(correlations_.begin(), {output.redshift, output.correlation});
    bispectra_.insert(bispectra_.begin(), {output.redshift, output.bispectrum});
  }
  std::string correlations() const { return to_csv(table_of(correlations_)); }
  std::string bispectra() const { return to_csv(table_of(bispectra_)); }
  std::string spectra() {
    std::size_t bins = table_.k.size();
    for (const PowerTable::Output& output : table_.outputs) bins = std::min(bins, output.power.size());
    table_.k.resize(bins);
    table_.modes.resize(bins);
    table_.input.resize(bins);
    table_.initial.resize(bins);
    for (PowerTable::Output& output : table_.outputs) output.power.resize(bins);
    return to_csv(table_);
  }

 private:
  PowerTable table_;
  std::vector<Measured<fourier::CorrelationFunction>> correlations_;
  std::vector<Measured<fourier::Bispectrum>> bispectra_;
};

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
    if (!files->snapshot.empty()) add_snapshot(files->snapshot, output);
  }

  /// Writes a table, unless it has no path.
  void add(const std::string& path, const std::string& table) {
    if (path.empty()) return;
    add_file(path, [&](const auto& part) {
      group_.agree([&] {
        if (group_.is_root()) core::write_text(part, table);
      });
    });
  }

  std::vector<core::FileRecord> take_records() { return std::move(records_); }

 private:
  /// Lets all ranks write the file, which the root then publishes.
  void add_file(const std::string& path, const std::function<void(const std::filesystem::path&)>& write) {
    std::filesystem::path part;
    group_.agree([&] { part = group_.is_root() ? output_.part(path) : output_.part_path(path); });
    write(part);
    group_.agree([&] {
      if (group_.is_root()) records_.push_back(output_.seal(path));
    });
  }

  core::OutputHeader header_of(const Output& output) const {
    return {.universe = record_.universe,
            .box_size = config_.box_size,
            .redshift = output.redshift,
            .particles = config_.particle_grid().cells(),
            .line_of_sight = config_.line_of_sight};
  }

  void add_counts(const std::string& path, const Output& output) {
    const auto counts = histogram::count_particles(group_, count_grid_, output.particles.x());
    const histogram::CountFileHeader header{header_of(output), count_grid_.cells_per_side};
    add_file(path, [&](const auto& part) { histogram::write_counts(group_, part, header, counts); });
  }

  void add_snapshot(const std::string& path, const Output& output) {
    core::SnapshotParticles particles{output.particles.x(), output.particles.p()};
    const auto ids = output.particles.ids();
    if (!ids.empty()) particles.index = [ids](std::size_t i) { return ids[i]; };
    add_file(path,
             [&](const auto& part) { core::write_snapshot(group_, part, header_of(output), particles); });
  }

  const core::Communicator& group_;
  const core::OutputDirectory& output_;
  const SimulationConfig& config_;
  const core::SimulationRecord& record_;
  core::GridSpec count_grid_;
  std::vector<core::FileRecord> records_;
};

}  // namespace

std::vector<core::FileRecord> make_universe(const core::Communicator& group,
                                            const core::OutputDirectory& output, SimulationConfig config,
                                            const core::SimulationRecord& record, int count_cells,
                                            const std::function<void(const Step&)>& step) {
  config.universe = record.universe;
  UniverseFiles files(group, output, config, record, count_cells);
  Measurements measurements;
  Observers observers;
  observers.initial = [&](const auto& initial, const auto& linear) {
    measurements.set_initial(initial, linear);
  };
  observers.step = step;
  observers.output = [&](const Output& now) {
    files.add(now);
    measurements.add(now);
  };
  simulate(group, config, observers);
  files.add(record.power_spectrum, measurements.spectra());
  files.add(record.correlation_function, measurements.correlations());
  files.add(record.bispectrum, measurements.bispectra());
  return files.take_records();
}

}  // namespace cosmo::sim
