#include <catch2/catch.hpp>
#include <limits>
#include <optional>

#include "core/file/checksum.hpp"
#include "core/universe/snapshot.hpp"
#include "tests/support/example_particles.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace cosmo::core;

namespace {

constexpr std::uint64_t kSide = 12;
constexpr std::uint64_t kTotal = kSide * kSide * kSide;

OutputHeader example_header() {
  return {.universe = {7, {.omega_m = 0.3, .sigma8 = 0.8, .n_s = 0.95, .h = 0.7, .omega_b = 0.05}},
          .box_size = 100.1,
          .redshift = 1,
          .particles = kTotal};
}

/// A directory that all ranks see.
class SharedDirectory {
 public:
  explicit SharedDirectory(const Communicator& comm) : comm_(comm) {
    if (comm.is_root()) mine_.emplace();
    path_ = comm.broadcast(mine_ ? mine_->path().string() : "");
  }
  ~SharedDirectory() { comm_.barrier(); }
  std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  const Communicator& comm_;
  std::optional<TemporaryDirectory> mine_;
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a snapshot holds the particles in order, however they were spread") {
  const auto comm = Communicator::world();
  const SharedDirectory directory(comm);
  const OutputHeader header = example_header();
  for (const bool scattered : {false, true}) {
    const ExampleParticles particles(comm, kSide, header.box_size, scattered);
    write_snapshot(comm, directory.file(scattered ? "b" : "a"), header, particles.view());
  }
  comm.barrier();
  CHECK(sha256_of_file(directory.file("a")) == sha256_of_file(directory.file("b")));

  const Snapshot snapshot(directory.file("a"));
  CHECK(snapshot.header().box_size == header.box_size);
  CHECK(snapshot.header().particles == kTotal);
  CHECK(snapshot.header().redshift == 1);
  CHECK(snapshot.header().universe.seed == 7);
  CHECK(snapshot.header().universe.cosmology.h == 0.7);
  CHECK(snapshot.header().universe.cosmology.sigma8 == 0.8);
  const std::uint64_t first = 500, some = 1000;
  std::vector<float> positions(3 * some), velocities(3 * some);
  std::vector<std::uint64_t> ids(some);
  snapshot.read_positions(first, positions);
  snapshot.read_velocities(first, velocities);
  snapshot.read_ids(first, ids);
  for (std::uint64_t i = 0; i < some; ++i) {
    float x[3], p[3];
    ExampleParticles::place(first + i, kSide, header.box_size, x, p);
    REQUIRE(ids[i] == first + i + 1);
    for (std::size_t c = 0; c < 3; ++c) {
      REQUIRE(positions[3 * i + c] == x[c]);
      REQUIRE(velocities[3 * i + c] == Approx(200 * p[c]).epsilon(1e-6));  // 100 km/s p / a at a = 1/2
    }
  }
  expect_error(Fault::format, "Coordinates", [&] { snapshot.read_positions(kTotal - 1, positions); });
}

TEST_CASE("the particles share the matter of the box") {
  // 3 H0²/(8πG) = 27.75366e10 h² Msun/Mpc³ with the IAU's parsec and G Msun.
  const OutputHeader header{.universe = {0, {.omega_m = 0.3}}, .box_size = 2, .particles = 16};
  CHECK(header.particle_mass() == Approx(0.3 * 27.75366 / 2).epsilon(1e-6));
}

TEST_CASE("the far edge of the box is its near one") {
  const auto comm = Communicator::world();
  const SharedDirectory directory(comm);
  OutputHeader header = example_header();
  header.box_size = GENERATE(100.0, 514.19529, 100.1);  // as floats: itself, larger, smaller
  ExampleParticles particles(comm, kSide, header.box_size, true);
  for (std::size_t i = 0; i < particles.index().size(); ++i) {
    if (particles.index()[i] == 9) particles.positions()[3 * i + 1] = static_cast<float>(header.box_size);
  }
  write_snapshot(comm, directory.file("edge"), header, particles.view());
  comm.barrier();
  std::vector<float> x(3);
  Snapshot(directory.file("edge")).read_positions(9, x);
  CHECK(x[1] == (header.box_size == 100.1 ? 100.1f : 0.0f));
}

TEST_CASE("particles that cannot be written are refused on every rank") {
  const auto comm = Communicator::world();
  const SharedDirectory directory(comm);
  const OutputHeader header = example_header();
  ExampleParticles particles(comm, kSide, header.box_size, true);
  const auto refuse = [&](Fault fault, const std::string& part) {
    expect_error(fault, part, [&] { write_snapshot(comm, directory.file("x"), header, particles.view()); });
  };
  const bool last = comm.rank() == comm.size() - 1;
  SECTION("lost in space") {
    const float x = GENERATE(-1.0f, 101.0f, std::numeric_limits<float>::quiet_NaN());
    if (last) particles.positions()[3] = x;
    refuse(Fault::numeric, "outside the box");
  }
  SECTION("no velocity") {
    if (last) particles.momenta()[3] = std::numeric_limits<float>::infinity();
    refuse(Fault::numeric, "not finite");
  }
  SECTION("twice the same") {
    if (last) particles.index()[0] = particles.index()[1];
    refuse(Fault::internal, "each Lagrangian index once");
  }
  SECTION("beyond the last") {
    if (last) particles.index()[0] = kTotal;
    refuse(Fault::internal, "each Lagrangian index once");
  }
  SECTION("one too few") {
    if (last) {
      particles.index().pop_back();
      particles.positions().resize(particles.positions().size() - 3);
      particles.momenta().resize(particles.momenta().size() - 3);
    }
    refuse(Fault::numeric, "1727 of 1728");
  }
}
