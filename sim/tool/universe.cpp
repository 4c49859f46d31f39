#include "sim/tool/universe.hpp"

#include <algorithm>

#include "core/file/text_file.hpp"
#include "core/universe/snapshot.hpp"
#include "histogram/count_file.hpp"
#include "histogram/count_grid.hpp"
#include "sim/suite/power_table.hpp"

namespace cosmo::sim {

namespace {

/// Gathers the spectra that a simulation measures. Outputs are added from the earliest on and listed from the
/// latest on; bins that one of the spectra lacks are left out of all.
class Spectra {
 public:
  void set_initial(const fourier::PowerSpectrum& initial, const LinearPower& linear) {
    table_.k = initial.k;
    table_.modes = initial.modes;
    table_.initial = initial.power;
    for (const double k : initial.k) table_.input.push_back(linear(k));
  }
  void add(double redshift, const fourier::PowerSpectrum& power) {
    table_.outputs.insert(table_.outputs.begin(), {redshift, power.power});
  }
  const PowerTable& table() {
    std::size_t bins = table_.k.size();
    for (const PowerTable::Output& output : table_.outputs) bins = std::min(bins, output.power.size());
    table_.k.resize(bins);
    table_.modes.resize(bins);
    table_.input.resize(bins);
    table_.initial.resize(bins);
    for (PowerTable::Output& output : table_.outputs) output.power.resize(bins);
    return table_;
  }

 private:
  PowerTable table_;
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

  void add(const PowerTable& table) {
    add_file(record_.power_spectrum, [&](const auto& part) {
      group_.agree([&] {
        if (group_.is_root()) core::write_text(part, to_csv(table));
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
    return {record_.universe, config_.box_size, output.redshift, config_.particle_grid().cells(), {}};
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
  Spectra spectra;
  Observers observers;
  observers.initial = [&](const auto& initial, const auto& linear) { spectra.set_initial(initial, linear); };
  observers.step = step;
  observers.output = [&](const Output& now) {
    files.add(now);
    spectra.add(now.redshift, now.power);
  };
  simulate(group, config, observers);
  if (!record.power_spectrum.empty()) files.add(spectra.table());
  return files.take_records();
}

}  // namespace cosmo::sim
