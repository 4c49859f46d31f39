#include "sim/inspect/spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/inspect/counts.hpp"

namespace cosmo::sim {

using fourier::FourierMesh;

namespace {

/// "k, modes, P" of some of the bins, which become wider.
std::string rows_of(const fourier::PowerSpectrum& spectrum) {
  std::string text;
  for (std::size_t bin = 0; bin < spectrum.k.size(); bin = std::max(bin + 1, (bin + 1) * 5 / 4)) {
    text += fmt::format("{:>12.5f} {:>10} {:>16.6g}\n", spectrum.k[bin], spectrum.modes[bin],
                        spectrum.power[bin]);
  }
  return text;
}

/// The power spectrum of a field, as it is.
void measure_field_power(FourierMesh& mesh, Finding& finding) {
  mesh.forward();
  const fourier::PowerSpectrum spectrum = power_spectrum(mesh);
  finding.summary["power_spectrum"] = {{"cells_per_side", mesh.side()},
                                       {"k_h_mpc", spectrum.k},
                                       {"modes", spectrum.modes},
                                       {"p", spectrum.power}};
  finding.text +=
      fmt::format("\nP(k) of {}, up to the Nyquist wavenumber; some of {} bins\n{:>12} {:>10} {:>16}\n{}",
                  finding.field, spectrum.k.size(), "k [h/Mpc]", "modes", "P", rows_of(spectrum));
}

}  // namespace

void measure_power(FourierMesh& mesh, Finding& finding) {
  finding.summary["power_spectrum"] = nullptr;
  if (finding.grid.cells_per_side < mesh.side()) {
    finding.text += fmt::format("P(k)         none: {}³ cells are too coarse for it, it takes {}³ or more\n",
                                finding.grid.cells_per_side, kFewestCells);
    return;
  }
  if (!finding.field.empty()) return measure_field_power(mesh, finding);
  const double mean = static_cast<double>(finding.particles) / static_cast<double>(finding.grid.cells());
  mesh.for_each_row([&](int, int, float* row) {
    for (int z = 0; z < mesh.side(); ++z) row[z] = static_cast<float>(row[z] / mean - 1);
  });
  mesh.forward();
  // Beyond half the Nyquist wavenumber, dividing by the window would amplify aliased power.
  const int bins = std::max(1, mesh.side() / 4);
  const fourier::PowerSpectrum spectrum =
      power_spectrum(mesh, {.bins = bins, .assignment = finding.assignment});
  const std::string assignment =
      finding.assignment == fourier::MassAssignment::cloud_in_cell ? "cloud-in-cell" : "nearest-grid-point";
  const double shot_noise = std::pow(finding.grid.box_size, 3) / static_cast<double>(finding.particles);
  finding.summary["power_spectrum"] = {{"assignment", assignment + ", its window divided out"},
                                       {"cells_per_side", mesh.side()},
                                       {"shot_noise", shot_noise},
                                       {"shot_noise_subtracted", false},
                                       {"k_h_mpc", spectrum.k},
                                       {"modes", spectrum.modes},
                                       {"p", spectrum.power}};
  finding.text += fmt::format(
      "\nP(k) of the particles, {} in {}³ cells, window divided out, up to half the Nyquist\n"
      "wavenumber; shot noise {:.6g} (Mpc/h)³ is not subtracted; some of {} bins\n{:>12} {:>10} {:>16}\n",
      assignment, mesh.side(), shot_noise, bins, "k [h/Mpc]", "modes", "P [(Mpc/h)³]");
  finding.text += rows_of(spectrum);
}

}  // namespace cosmo::sim
