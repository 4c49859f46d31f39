#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/universe/cosmology_attributes.hpp"
#include "core/universe/snapshot.hpp"
#include "core/universe/snapshot_attributes.hpp"
#include "core/version.hpp"

namespace cosmo::core {

namespace {

using hdf5::Dataset;
using hdf5::File;

/// Particles that a rank writes at once: 6 MiB of positions, few enough to be in memory twice.
constexpr std::uint64_t kRound = std::uint64_t{1} << 19;

/// Indices first <= i < last.
struct Range {
  std::uint64_t first;
  std::uint64_t last;
  std::uint64_t size() const { return last - first; }
};

Range part_of(std::uint64_t total, int part, int parts) {
  const auto bound = [&](int p) {
    return total * static_cast<std::uint64_t>(p) / static_cast<std::uint64_t>(parts);
  };
  return {bound(part), bound(part + 1)};
}

/// The part of the range that is written in this round; may be empty.
Range in_round(const Range& range, std::uint64_t round) {
  const std::uint64_t first = std::min(range.last, range.first + round * kRound);
  return {first, std::min(range.last, first + kRound)};
}

/// The particles of one round, ready to be written.
struct Rows {
  std::vector<std::uint64_t> ids;  ///< 0: not filled yet
  std::vector<float> positions, velocities;

  void clear(std::uint64_t size) {
    ids.assign(size, 0);
    positions.resize(3 * size);
    velocities.resize(3 * size);
  }
};

/// Converts a position and a momentum to what is stored.
class Converter {
 public:
  Converter(const OutputHeader& header, const std::filesystem::path& path)
      : box_(header.box_size), velocity_(100 / std::pow(header.scale_factor(), 1.5)), path_(path.string()) {}

  void store(Rows& rows, std::size_t row, std::uint64_t index, const float* x, const float* p) const {
    rows.ids[row] = index + 1;
    for (std::size_t c = 0; c < 3; ++c) {
      // A tiny negative coordinate that was wrapped may have been rounded up to L.
      const float position = x[c] < box_ ? x[c] : 0;
      const auto velocity = static_cast<float>(velocity_ * p[c]);
      ensure(
          x[c] >= 0 && (x[c] < box_ || x[c] == static_cast<float>(box_)) && std::isfinite(velocity),
          Fault::numeric,
          "{}: particle {} is at {} Mpc/h with {} km/s, outside the box of {} Mpc/h or not finite: check the "
          "steps of the simulation.",
          path_, index + 1, x[c], velocity, box_);
      rows.positions[3 * row + c] = position;
      rows.velocities[3 * row + c] = velocity;
    }
  }

 private:
  double box_;
  double velocity_;  ///< [km/s / (Mpc/h)]
  std::string path_;
};

/// A particle on its way to the rank that writes it.
struct Parcel {
  std::uint64_t index;
  float x[3], p[3];
};

/// Brings particles to the ranks that write them, one round at a time.
class Exchange {
 public:
  Exchange(const Communicator& comm, const SnapshotParticles& particles, std::uint64_t total)
      : comm_(comm), particles_(particles), total_(total) {
    comm.agree([&] { sort_by_round(); });
  }

  /// Fills the rows of `range`, this rank's part of the round. Collective.
  void receive(std::uint64_t round, const Range& range, const Converter& convert, Rows& rows) {
    std::vector<int> send_counts(static_cast<std::size_t>(comm_.size()), 0);
    std::vector<Parcel> send;
    comm_.agree([&] { pack(round, send_counts, send); });
    const std::vector<int> recv_counts = comm_.exchange_counts(send_counts);
    std::vector<Parcel> arrived;
    comm_.agree([&] {
      const auto parcels = std::accumulate(recv_counts.begin(), recv_counts.end(), std::uint64_t{0});
      ensure_each_once(parcels == range.size());
      arrived.resize(parcels);
    });
    comm_.all_to_all(send.data(), send_counts, arrived.data(), recv_counts);
    comm_.agree([&] {
      for (const Parcel& parcel : arrived) {
        const std::uint64_t row = parcel.index - range.first;
        ensure_each_once(rows.ids[row] == 0);
        convert.store(rows, row, parcel.index, parcel.x, parcel.p);
      }
    });
  }

 private:
  static void ensure_each_once(bool good) {
    ensure(good, Fault::internal, "The particles of a snapshot do not have each Lagrangian index once.");
  }

  int owner_of(std::uint64_t index) const {
    auto owner = static_cast<int>(index * static_cast<std::uint64_t>(comm_.size()) / total_);
    while (index >= part_of(total_, owner, comm_.size()).last) ++owner;
    return owner;
  }

  std::uint64_t round_of(std::uint64_t index) const {
    return (index - part_of(total_, owner_of(index), comm_.size()).first) / kRound;
  }

  /// Counting sort: the particles of round r are order_[starts_[r]] … order_[starts_[r + 1] - 1].
  void sort_by_round() {
    const std::size_t size = particles_.positions.size() / 3;
    ensure(size <= std::numeric_limits<std::uint32_t>::max(), Fault::config,
           "{} particles are too many for one rank: use more ranks.", size);
    const Range largest = part_of(total_, comm_.size() - 1, comm_.size());
    starts_.assign(largest.size() / kRound + 2, 0);
    for (std::size_t i = 0; i < size; ++i) {
      ensure_each_once(particles_.index(i) < total_);
      ++starts_[round_of(particles_.index(i)) + 1];
    }
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    order_.resize(size);
    std::vector<std::size_t> next = starts_;
    for (std::size_t i = 0; i < size; ++i)
      order_[next[round_of(particles_.index(i))]++] = static_cast<std::uint32_t>(i);
  }

  void pack(std::uint64_t round, std::vector<int>& counts, std::vector<Parcel>& send) const {
    const std::span<const std::uint32_t> members(order_.data() + starts_[round],
                                                 starts_[round + 1] - starts_[round]);
    ensure_each_once(members.size() <= std::numeric_limits<int>::max());
    send.resize(members.size());
    for (const std::uint32_t i : members) ++counts[static_cast<std::size_t>(owner_of(particles_.index(i)))];
    std::vector<std::size_t> next(counts.size(), 0);
    std::partial_sum(counts.begin(), counts.end() - 1, next.begin() + 1);
    for (const std::uint32_t i : members) {
      const std::uint64_t index = particles_.index(i);
      Parcel& parcel = send[next[static_cast<std::size_t>(owner_of(index))]++];
      parcel.index = index;
      std::copy_n(&particles_.positions[3 * std::size_t{i}], 3, parcel.x);
      std::copy_n(&particles_.momenta[3 * std::size_t{i}], 3, parcel.p);
    }
  }

  const Communicator& comm_;
  const SnapshotParticles& particles_;
  std::uint64_t total_;
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> starts_;
};

void write_numbers(File& file, const std::string& group, std::span<const NumberAttribute> attributes) {
  for (const auto& [name, value] : attributes) file.set_attribute(group + "/" + name, value);
}

void write_header(File& file, const OutputHeader& header) {
  for (const char* group : {"Header", "Parameters", "Units", "PartType1"}) file.create_group(group);
  const std::vector<std::uint64_t> counts = {0, header.particles, 0, 0, 0, 0};
  file.set_attribute("Header/NumPart_ThisFile", counts);
  file.set_attribute("Header/NumPart_Total", counts);
  file.set_attribute("Header/NumFilesPerSnapshot", std::int32_t{1});
  file.set_attribute("Header/MassTable", std::vector<double>{0, header.particle_mass(), 0, 0, 0, 0});
  file.set_attribute("Header/Time", header.scale_factor());
  file.set_attribute("Header/Redshift", header.redshift);
  for (const char* physics : {"Sfr", "Cooling", "StellarAge", "Metals", "Feedback", "DoublePrecision"})
    file.set_attribute(std::string("Header/Flag_") + physics, std::int32_t{0});
  write_numbers(file, "Header", parameter_attributes(header));
  write_numbers(file, "Parameters", parameter_attributes(header));
  write_numbers(file, "Parameters", kUnitAttributes);
  write_numbers(file, "Units", kUnitAttributes);
  file.set_attribute("schema", std::string(kSnapshotSchema));
  file.set_attribute("seed", header.universe.seed);
  write_cosmology(file, header.universe.cosmology);
  file.set_attribute("code_version", version());
  write_line_of_sight(file, header.line_of_sight);
}

constexpr const char *kPositions = "PartType1/Coordinates", *kVelocities = "PartType1/Velocities",
                     *kIds = "PartType1/ParticleIDs";

/// Creates everything but the particles' data.
void make(File& file, const OutputHeader& header) {
  const hsize_t n = header.particles;
  write_header(file, header);
  file.create_dataset<float>(kPositions, {n, 3});
  file.create_dataset<float>(kVelocities, {n, 3});
  file.create_dataset<std::uint64_t>(kIds, {n});
}

/// An open snapshot and its arrays. Every member is collective: ranks agree on failures.
class Writer {
 public:
  Writer(const Communicator& comm, const std::filesystem::path& path, const OutputHeader& header)
      : comm_(comm), file_(File::create(path, comm, [&](File& file) { make(file, header); })) {
    comm.agree([&] {
      positions_.emplace(file_.dataset(kPositions));
      velocities_.emplace(file_.dataset(kVelocities));
      ids_.emplace(file_.dataset(kIds));
    });
  }

  void write(std::uint64_t first, const Rows& rows) {
    const hsize_t n = rows.ids.size();
    comm_.agree([&] { positions_->write({first, 0}, {n, 3}, std::span(rows.positions)); });
    comm_.agree([&] { velocities_->write({first, 0}, {n, 3}, std::span(rows.velocities)); });
    comm_.agree([&] { ids_->write({first}, {n}, std::span(rows.ids)); });
  }

  void finish() {
    for (std::optional<Dataset>* dataset : {&positions_, &velocities_, &ids_}) dataset->reset();
    comm_.agree([&] { file_.close(); });
  }

 private:
  const Communicator& comm_;
  File file_;
  std::optional<Dataset> positions_, velocities_, ids_;
};

/// The indices that this rank holds when ranks hold them in order.
Range held_by(const Communicator& comm, std::uint64_t size) {
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(comm.size()), 0);
  sizes[static_cast<std::size_t>(comm.rank())] = size;
  comm.sum(std::span(sizes));
  const auto first = std::accumulate(sizes.begin(), sizes.begin() + comm.rank(), std::uint64_t{0});
  return {first, first + size};
}

}  // namespace

void write_snapshot(const Communicator& comm, const std::filesystem::path& path, const OutputHeader& header,
                    const SnapshotParticles& particles) {
  const std::uint64_t size = particles.positions.size() / 3;
  comm.agree([&] {
    ensure(particles.positions.size() == 3 * size && particles.momenta.size() == 3 * size, Fault::internal,
           "{} coordinates and {} momenta are not of the same particles.", particles.positions.size(),
           particles.momenta.size());
  });
  const std::uint64_t sum = comm.sum(size);
  comm.agree([&] {
    ensure(sum == header.particles && sum > 0, Fault::numeric,
           "{} of {} particles are there for {}: some were lost in the simulation.", sum, header.particles,
           path.string());
  });
  std::optional<Exchange> exchange;
  if (particles.index) exchange.emplace(comm, particles, sum);
  const Range mine = exchange ? part_of(sum, comm.rank(), comm.size()) : held_by(comm, size);
  const std::uint64_t rounds = comm.max((mine.size() + kRound - 1) / kRound);

  Writer file(comm, path, header);
  const Converter convert(header, path);
  Rows rows;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Range range = in_round(mine, round);
    comm.agree([&] { rows.clear(range.size()); });
    if (exchange) {
      exchange->receive(round, range, convert, rows);
    } else {
      comm.agree([&] {
        for (std::uint64_t index = range.first; index < range.last; ++index) {
          const std::size_t i = 3 * (index - mine.first);
          convert.store(rows, index - range.first, index, &particles.positions[i], &particles.momenta[i]);
        }
      });
    }
    file.write(range.first, rows);
  }
  file.finish();
}

}  // namespace cosmo::core
