#include "histogram/snapshot/snapshot_counts.hpp"

#include <algorithm>
#include <cmath>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "histogram/particle_counter.hpp"
#include "histogram/snapshot/filled_share.hpp"
#include "histogram/snapshot/mass_counts.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

std::uint64_t rows_of_round(int ranks, std::uint64_t particles) {
  return std::max<std::uint64_t>(
      1, std::min<std::uint64_t>(ParticleCounter::kRound, particles) / static_cast<std::uint64_t>(ranks));
}

/// Reads and counts all particles, each rank a part of them, in the snapshot's own unit. Collective.
template <class T>
CountGrid count(const core::Communicator& comm, const GadgetSnapshot& snapshot, int cells,
                const std::function<void(std::int64_t)>& after_round) {
  const std::uint64_t particles = snapshot.particles(), step = rows_of_round(comm.size(), particles);
  const auto ranks = static_cast<std::uint64_t>(comm.size()), rank = static_cast<std::uint64_t>(comm.rank());
  const std::uint64_t first = particles / ranks * rank + std::min(rank, particles % ranks);
  const std::uint64_t rows = particles / ranks + (rank < particles % ranks ? 1 : 0);
  const std::uint64_t rounds = comm.max((rows + step - 1) / step);
  core::Buffer<T> block(3 * step);
  ParticleCounter counter(comm, {cells, snapshot.box_size()});
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t start = std::min(rows, round * step);
    const std::span<T> part = block.span().first(3 * std::min(step, rows - start));
    comm.agree([&] { snapshot.read(first + start, part); });
    counter.add(std::span<const T>(part));
    after_round(static_cast<std::int64_t>(rounds));
  }
  return std::move(counter).finish();
}

}  // namespace

SettledCosmology settle_cosmology(const StatedParameters& user, const std::map<std::string, double>& files) {
  SettledCosmology settled;
  for (const core::CosmologyParameter& row : core::kCosmologyParameters) {
    const std::string name(row.name);
    double& value = settled.cosmology.*row.member;
    const auto stated = user.find(name);
    const auto found = files.find(name);
    if (stated != user.end()) {
      value = stated->second.value;
      ensure(
          found == files.end() || std::abs(found->second - value) <= 1e-6 * std::abs(value), Fault::config,
          "{} is {} and the snapshot has {}: leave it out, or give --override {} if the snapshot is wrong.",
          stated->second.where, value, found == files.end() ? 0 : found->second, name);
    } else if (found != files.end()) {
      value = found->second;
      ensure(value >= row.low && value <= row.high, Fault::config,
             "The snapshot has {0} = {1}: give --override {0}=X, between {2} and {3}.", name, value, row.low,
             row.high);
    } else {
      settled.unstated.push_back(name);
      if (name != "w0" && name != "wa") settled.assumed.push_back(name);
    }
  }
  core::validate(settled.cosmology);
  return settled;
}

WeighedSnapshot open_snapshot(const core::Communicator& comm, const std::filesystem::path& input,
                              const GadgetReading& reading) {
  std::optional<GadgetSnapshot> snapshot;
  comm.agree([&] { snapshot.emplace(input, reading); });
  WeighedSnapshot weighed{std::move(*snapshot), {}};
  weighed.masses = survey_masses(comm, weighed.snapshot);
  comm.agree([&] { ensure_weighted(weighed.snapshot, weighed.masses, reading.weights); });
  if (reading.weights == ParticleWeights::mass && weighed.masses.differ())
    weighed.unit = mass_unit_of(comm, weighed.snapshot, weighed.masses);
  return weighed;
}

std::uint64_t counting_memory(const core::GridSpec& grid, std::uint64_t particles, std::size_t float_bytes,
                              int ranks, int threads, bool weighed) {
  if (weighed) return mass_counting_memory(grid.cells_per_side);
  return rows_of_round(ranks, particles) * 3 * float_bytes +
         ParticleCounter::memory_bytes(grid, particles, ranks, threads);
}

void declare_gadget_reading(core::Options& options) {
  options.add("particle-type N,...", "1", "types of particles to count, PartType0 …; 1 is dark matter");
  options.add("length-unit UNIT", "header",
              "unit of the snapshot's lengths: kpc/h, Mpc/h, kpc, Mpc, or header (as its files state)",
              {"header", "kpc/h", "Mpc/h", "kpc", "Mpc"});
  options.add(
      "weights NAME", std::nullopt,
      "what a particle counts: equal, one; mass, its mass in units of the least, or of the mean where masses are "
      "no multiples of that [equal; unequal masses are refused]",
      {"equal", "mass"});
  options.add_flag("wrap",
                   "put particles into the periodic box that are outside it by more than a hundredth");
  options.add(
      "override NAME[=X],...", std::nullopt,
      "values in place of what the snapshot states, which is recorded: parameters, box [Mpc/h], redshift; a "
      "parameter without =X: as the option or table has it");
}

namespace {

std::vector<std::size_t> types_in(const core::Options& options) {
  constexpr int kMostTypes = 31;
  std::vector<std::size_t> types;
  for (const std::string_view part : core::cells_of(options.text("particle-type"), ',')) {
    types.push_back(static_cast<std::size_t>(core::parse_integer(part, "--particle-type", 0, kMostTypes)));
    ensure(std::ranges::count(types, types.back()) == 1, Fault::config,
           "--particle-type has {} twice: give it once.", types.back());
  }
  return types;
}

std::map<std::string, std::optional<double>> overrides_in(const core::Options& options) {
  std::map<std::string, std::optional<double>> overrides;
  if (!options.given("override")) return overrides;
  const std::string& typed = options.text("override");
  for (const std::string_view part : core::cells_of(typed, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name(core::trimmed(part.substr(0, equals)));
    const bool parameter = core::find_cosmology_parameter(name) != nullptr;
    ensure(parameter || name == "box" || name == "redshift", Fault::usage,
           "--override has '{}': give parameters ({}), box or redshift.", name,
           fmt::join(core::parameter_names(), ", "));
    ensure(parameter || equals != std::string_view::npos, Fault::usage,
           "--override {} has no value: write {}=X.", name, name);
    const auto value =
        equals == std::string_view::npos
            ? std::nullopt
            : std::optional(core::parse_number(core::trimmed(part.substr(equals + 1)), "--override", typed));
    ensure(overrides.emplace(name, value).second, Fault::usage, "--override has {} twice: give it once.",
           name);
  }
  return overrides;
}

}  // namespace

GadgetReading read_gadget_reading(const core::Options& options) {
  GadgetReading reading{types_in(options)};
  const std::string& unit = options.choice("length-unit");
  for (const auto& [name, scale] : kLengthUnits)
    if (unit == name) reading.length = scale;
  if (options.given("weights"))
    reading.weights = options.choice("weights") == "mass" ? ParticleWeights::mass : ParticleWeights::equal;
  reading.wrap = options.flag("wrap");
  reading.overrides = overrides_in(options);
  return reading;
}

void identify(const GadgetReading& reading, core::Json& config) {
  if (reading.types.size() == 1)
    config["particle_type"] = reading.types.front();
  else
    config["particle_type"] = reading.types;
  if (reading.weights == ParticleWeights::mass) config["weights"] = "mass";
  if (reading.wrap) config["wrap"] = true;
  for (const auto& [name, value] : reading.overrides)
    config["override"][name] = value ? core::Json(*value) : core::Json(nullptr);
}

CountGrid count_particles(const core::Communicator& comm, const WeighedSnapshot& weighed, int cells,
                          const std::function<void(std::int64_t)>& after_round) {
  const GadgetSnapshot& snapshot = weighed.snapshot;
  if (weighed.unit) return count_masses(comm, snapshot, cells, *weighed.unit, after_round);
  return snapshot.float_bytes() == sizeof(double) ? count<double>(comm, snapshot, cells, after_round)
                                                  : count<float>(comm, snapshot, cells, after_round);
}

GadgetSnapshot::Seen seen_of(const core::Communicator& comm, const GadgetSnapshot& snapshot) {
  GadgetSnapshot::Seen seen = snapshot.seen();
  seen.wrapped = comm.sum(seen.wrapped);
  seen.at_zero = comm.sum(seen.at_zero);
  for (double& low : seen.lowest) low = comm.min(low);
  for (double& high : seen.highest) high = comm.max(high);
  return seen;
}

CountingResult count_snapshot(const core::Communicator& comm, const core::OutputDirectory& output,
                              const std::string& path, const WeighedSnapshot& weighed,
                              const CountFileHeader& header,
                              const std::function<void(std::int64_t rounds)>& after_round) {
  const CountGrid grid = count_particles(comm, weighed, header.cells_per_side, after_round);
  comm.agree([&] { weighed.snapshot.watched().ensure_unchanged(); });
  CountingResult result{{}, seen_of(comm, weighed.snapshot), filled_share(comm, grid)};
  std::filesystem::path part;
  comm.agree([&] { part = comm.is_root() ? output.part(path) : output.part_path(path); });
  write_counts(comm, part, header, grid);
  comm.agree([&] {
    if (comm.is_root()) result.records.push_back(output.seal(path));
  });
  return result;
}

std::vector<std::string> remarks_on(const WeighedSnapshot& weighed, const core::Cosmology& cosmology) {
  std::vector<std::string> remarks = weighed.snapshot.remarks();
  const auto density = density_of(weighed.snapshot, weighed.masses);
  if (const auto remark = density ? closure_remark(*density, cosmology) : std::nullopt)
    remarks.push_back(*remark);
  return remarks;
}

std::vector<std::string> remarks_on(const CountingResult& result, const GadgetSnapshot& snapshot) {
  constexpr std::uint64_t kFewAtZero = 10;
  const GadgetSnapshot::Seen& seen = result.seen;
  const auto particles = static_cast<double>(snapshot.particles());
  std::size_t axis = 0;  // the one along which coordinates reach farthest
  for (std::size_t a = 1; a < 3; ++a)
    if (seen.highest[a] - seen.lowest[a] > seen.highest[axis] - seen.lowest[axis]) axis = a;
  const double range = (seen.highest[axis] - seen.lowest[axis]) / snapshot.box_size();
  std::vector<std::string> remarks;
  if (result.filled < kLeastFilled)
    remarks.push_back(fmt::format(
        "its particles fill only {:.0f} % of the box along an axis: they are in another unit than the box, "
        "or of a part of it",
        100 * result.filled));
  if (seen.at_zero > kFewAtZero && static_cast<double>(seen.at_zero) > 1e-3 * particles)
    remarks.push_back(
        fmt::format("{} of its {} particles are at (0, 0, 0) exactly, as those that were never written",
                    seen.at_zero, snapshot.particles()));
  if (range > 2 || (range > 1.1 && static_cast<double>(seen.wrapped) > particles / 3))
    remarks.push_back(fmt::format(
        "its coordinates, from {:.6g} to {:.6g}, reach over {:.3g} times its box of {:.6g}: they are in "
        "another unit than the box, and --wrap hides it",
        seen.lowest[axis], seen.highest[axis], range, snapshot.box_size()));
  return remarks;
}

void warn_of(const core::Log& log, const std::vector<std::string>& remarks) {
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, remarks.size()); ++i) log.warn("{}.", remarks[i]);
  if (remarks.size() > kMost) log.warn("{} more like these.", remarks.size() - kMost);
}

void warn_of(const core::Log& log, const std::string& snapshot, std::vector<std::string> remarks) {
  for (std::string& remark : remarks) remark = fmt::format("{}: {}", snapshot, remark);
  warn_of(log, remarks);
}

}  // namespace cosmo::histogram
