// Refusals of tables of the power spectrum and of designs.
#include <cmath>
#include <string>
#include <vector>

#include "core/universe/cosmology.hpp"
#include "sim/linear/transfer_function.hpp"
#include "tests/stages/refusals.hpp"

namespace cosmo {

using core::Fault;

namespace {

const std::string kPowerHeader = "#    1:k (h/Mpc)              2:P (Mpc/h)^3\n";

/// Two columns, k [h/Mpc] and P [(Mpc/h)³], as CLASS heads them.
std::string power_table(double low, double high, double amplitude = 2e6) {
  constexpr int kRows = 100;
  const core::Cosmology cosmology;
  const sim::TransferFunction transfer = sim::eisenstein_hu(cosmology);
  std::string text = kPowerHeader;
  for (int i = 0; i < kRows; ++i) {
    const double k = low * std::pow(high / low, i / (kRows - 1.0));
    text += fmt::format("{} {}\n", k, amplitude * std::pow(k, cosmology.n_s) * std::pow(transfer(k), 2));
  }
  return text;
}

}  // namespace

void refuse_tables_of_the_spectrum(const Made& made) {
  const std::string with = kGenerate + "--particles 32 --box 128 --transfer D/pk.dat ";
  const auto refuse = [&](const std::string& table, Fault fault, const std::vector<std::string>& parts,
                          const std::string& more = "") {
    made.refuse_content("pk.dat", table, {with + more, fault, parts});
  };
  made.refuse(with, Fault::io, {"D/pk.dat", "eisenstein-hu"});
  refuse(power_table(1e-4, 1.2), Fault::config,
         {"D/pk.dat", "ends at k = 1.2", "32 particles per side need it to 1.36"});
  refuse(power_table(0.05, 20), Fault::config, {"D/pk.dat", "begins at k = 0.05", "0.0490"});
  refuse(power_table(1e-4, 20, 1e9), Fault::format, {"D/pk.dat", "sigma_8 = "});
  const std::string table = power_table(1e-4, 20);
  for (const std::string range :
       {"--n-s 0.9:1.0", "--omega-m 0.2:0.4", "--h 0.6:0.8", "--omega-b 0.04:0.05"}) {
    refuse(table, Fault::config, {range.substr(0, range.find(' ')) + " varies and --transfer D/pk.dat"},
           range);
  }
  refuse(replaced(table, "1:k (h/Mpc)", "1:k (1/Mpc)"), Fault::format, {"D/pk.dat line 1", "h/Mpc"});
  refuse("# Matter power spectrum P(k) at redshift z=1.00000\n" + table, Fault::format,
         {"D/pk.dat line 1", "redshift 1.00000"});
  refuse(table + "30 nan\n", Fault::format, {"D/pk.dat line 102", "nan"});
}

void refuse_designs(const Made& made) {
  const std::string with = kGenerate + "--design D/design.csv ";
  const auto refuse = [&](const std::string& design, Fault fault, const std::vector<std::string>& parts,
                          const std::string& more = "") {
    made.refuse_content("design.csv", design, {with + more, fault, parts});
  };
  made.refuse(with, Fault::io, {"D/design.csv", "sobol"});
  refuse("omega_m,seed\n0.3,1\n0.4,1\n", Fault::format, {"D/design.csv line 3", "seed 1"});
  refuse("omega_m\n0.3\n3\n", Fault::config, {"D/design.csv line 3", "omega_m is 3"});
  const std::string two = "omega_m\n0.3\n0.4\n";
  refuse(two, Fault::config, {"--simulations is 3", "2 universes"}, "--simulations 3");
  refuse(two, Fault::config, {"--omega-m is a range", "D/design.csv"}, "--omega-m 0.2:0.4");
  refuse(two, Fault::config, {"--h is a range", "D/design.csv"}, "--h 0.6:0.8");
  refuse(two, Fault::config, {"--omega-m is given", "column omega_m"}, "--omega-m 0.3");
}

}  // namespace cosmo
