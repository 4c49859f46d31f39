#include "core/fourier/bispectrum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <span>

#include "core/error.hpp"

namespace cosmo::fourier {

namespace {

/// Wavevectors with 2 |k| from `low` up to, but not including, `high`, in fundamental wavenumbers.
struct Shell {
  int low, high;

  int reach() const { return (high - 1) / 2; }  ///< largest component of a wavevector
  bool contains(int kx, int ky, int kz) const {
    const int square = 4 * (kx * kx + ky * ky + kz * kz);
    return square >= low * low && square < high * high;
  }
};

std::vector<Shell> shells_up_to(int largest) {
  std::vector<Shell> shells;
  for (int low = 1;; low = shells.back().high) {
    const int high = low + 2 * std::max(2, low / 8);
    if (high > 2 * largest + 1) return shells;
    shells.push_back({low, high});
  }
}

/// Σ_x over a mesh, divided by its cells, of products of shells' fields I(x) = Σ modes(k) exp(ikx), which are
/// sums over modes and triangles that close.
struct Products {
  double square = 0;    ///< I²
  double cube = 0;      ///< I³
  double squeezed = 0;  ///< I0 I², I0 of the first shell

  void add(const Products& other) {
    square += other.square;
    cube += other.cube;
    squeezed += other.squeezed;
  }
};

/// The modes within the shells' reach, divided by the window, on a mesh that may be smaller. Ranks exchange
/// whole planes of ky, which ascend alike on both meshes. Collective.
void copy_modes(const FourierMesh& from, int reach, MassAssignment assignment, FourierMesh& to) {
  const core::Communicator& comm = from.communicator();
  const auto width = static_cast<std::size_t>(2 * reach + 1) * static_cast<std::size_t>(reach + 1);
  const std::vector<double> inverse = inverse_square_window(from.side(), assignment);
  const auto at = [&](int wavenumber) { return inverse[static_cast<std::size_t>(std::abs(wavenumber))]; };
  std::vector<std::complex<float>> sent, received;
  std::vector<int> send_counts(static_cast<std::size_t>(comm.size())), receive_counts(send_counts);
  const auto place = [](const FourierMesh& mesh, int ky) { return ky < 0 ? ky + mesh.side() : ky; };
  const auto visit = [&](auto&& use) {
    for (int i = 0; i <= 2 * reach; ++i) use(i <= reach ? i : i - 2 * reach - 1);
  };
  visit([&](int ky) {
    if (!from.slab().contains(place(from, ky))) return;
    ++send_counts[static_cast<std::size_t>(core::owner_of(to.side(), place(to, ky), comm.size()))];
    for (int kx = -reach; kx <= reach; ++kx) {
      for (int kz = 0; kz <= reach; ++kz) {
        const auto undone = static_cast<float>(std::sqrt(at(kx) * at(ky) * at(kz)));
        sent.push_back(from.mode_row(kx, ky)[kz] * undone);
      }
    }
  });
  visit([&](int ky) {
    if (!to.slab().contains(place(to, ky))) return;
    ++receive_counts[static_cast<std::size_t>(core::owner_of(from.side(), place(from, ky), comm.size()))];
    received.resize(received.size() + width);
  });
  comm.all_to_all(sent.data(), send_counts, received.data(), receive_counts, width);
  const std::complex<float>* next = received.data();
  visit([&](int ky) {
    if (!to.slab().contains(place(to, ky))) return;
    for (int kx = -reach; kx <= reach; ++kx, next += reach + 1)
      std::copy_n(next, reach + 1, to.mode_row(kx, ky));
  });
}

/// Makes the shells' fields and sums their products.
class Shells {
 public:
  Shells(std::span<const Shell> shells, const FourierMesh& modes)
      : shells_(shells),
        modes_(modes),
        first_(modes.communicator(), modes.grid()),
        field_(modes.communicator(), modes.grid()) {}

  /// The products of each shell, of map(mode) for the modes. Each plane is summed in order and has one
  /// contributor, so the sums do not depend on ranks and threads. Collective.
  template <class Map>
  std::vector<Products> products(Map&& map) {
    const auto n = static_cast<std::size_t>(modes_.side());
    std::vector<Products> sums;
    transform(first_, shells_[0], map, {});
    for (const Shell& shell : shells_) {
      std::vector<double> planes(3 * n);
      transform(field_, shell, map, [&](int x) {
        const Products sum = plane_products(x);
        double* plane = planes.data() + 3 * static_cast<std::size_t>(x);
        plane[0] = sum.square, plane[1] = sum.cube, plane[2] = sum.squeezed;
      });
      modes_.communicator().sum(std::span(planes));
      Products& sum = sums.emplace_back();
      for (std::size_t i = 0; i < 3 * n; i += 3) sum.add({planes[i], planes[i + 1], planes[i + 2]});
      const auto cells = static_cast<double>(modes_.grid().cells());
      sum = {sum.square / cells, sum.cube / cells, sum.squeezed / cells};
    }
    return sums;
  }

 private:
  template <class Map>
  void transform(FourierMesh& field, const Shell& shell, Map& map, const FourierMesh::PlaneWork& finish) {
    field.backward_from(
        modes_,
        [&](int kx, int ky, int kz, std::complex<float> mode) {
          return shell.contains(kx, ky, kz) ? map(mode) : std::complex<float>{};
        },
        finish);
  }

  Products plane_products(int x) const {
    Products sum;
    for (int y = 0; y < field_.side(); ++y) {
      const float *row = field_.row(x, y), *first = first_.row(x, y);
      for (int z = 0; z < field_.side(); ++z) {
        const double value = static_cast<double>(row[z]), square = value * value;
        sum.add({square, square * value, square * static_cast<double>(first[z])});
      }
    }
    return sum;
  }

  std::span<const Shell> shells_;
  const FourierMesh& modes_;
  FourierMesh first_, field_;
};

/// Mean wavenumber of the shell's modes, in fundamental wavenumbers.
double mean_wavenumber(const Shell& shell) {
  double sum = 0, modes = 0;
  for (int kx = 0; kx <= shell.reach(); ++kx) {
    for (int ky = 0; ky <= shell.reach(); ++ky) {
      for (int kz = 0; kz <= shell.reach(); ++kz) {
        if (!shell.contains(kx, ky, kz)) continue;
        const int copies = (kx > 0 ? 2 : 1) * (ky > 0 ? 2 : 1) * (kz > 0 ? 2 : 1);  // signs
        sum += copies * std::sqrt(static_cast<double>(kx * kx + ky * ky + kz * kz));
        modes += copies;
      }
    }
  }
  return sum / modes;
}

void append(TriangleSums& sums, double value, double triangles, double powers) {
  sums.triangles.push_back(std::round(triangles));
  sums.b.push_back(value / triangles);
  sums.q.push_back(value / triangles / powers);
}

}  // namespace

int shell_mesh_side(int largest) {
  const std::vector<Shell> shells = shells_up_to(largest);
  // Three components together stay below a side: a sum of wavevectors that is 0 on the mesh is 0.
  int side = shells.empty() ? 4 : 3 * shells.back().reach() + 1;
  const auto smooth = [](int n) {
    for (const int factor : {2, 3, 5}) {
      while (n % factor == 0) n /= factor;
    }
    return n == 1;
  };
  while (side % 2 != 0 || !smooth(side)) ++side;
  return side;
}

std::size_t bispectrum_memory_bytes(int largest, int ranks) {
  return 3 * FourierMesh::memory_bytes(shell_mesh_side(largest), ranks);
}

Bispectrum bispectrum(const FourierMesh& delta, int largest, MassAssignment assignment) {
  core::ensure(largest >= 0 && 2 * largest < delta.side(), core::Fault::internal,
               "A bispectrum up to {} fundamental wavenumbers is asked of a mesh of {} cells per side.",
               largest, delta.side());
  const std::vector<Shell> shells = shells_up_to(largest);
  if (shells.empty()) return {};
  FourierMesh modes(delta.communicator(), {shell_mesh_side(largest), delta.grid().box_size});
  copy_modes(delta, shells.back().reach(), assignment, modes);
  Shells fields(shells, modes);
  const std::vector<Products> sums = fields.products([](std::complex<float> mode) { return mode; });
  const std::vector<Products> units =
      fields.products([](std::complex<float>) { return std::complex<float>{1}; });

  Bispectrum result;
  const double volume = std::pow(delta.grid().box_size, 3);
  for (std::size_t s = 0; s < shells.size(); ++s) {
    result.k.push_back(delta.fundamental() * mean_wavenumber(shells[s]));
    result.power.push_back(volume * sums[s].square / std::round(units[s].square));
    const double own = result.power[s], first = result.power[0];
    append(result.equilateral, volume * volume * sums[s].cube, units[s].cube, 3 * own * own);
    append(result.squeezed, volume * volume * sums[s].squeezed, units[s].squeezed, (2 * first + own) * own);
  }
  return result;
}

}  // namespace cosmo::fourier
