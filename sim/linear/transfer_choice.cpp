#include "sim/linear/transfer_choice.hpp"

#include <filesystem>
#include <utility>

#include "core/error.hpp"
#include "core/named.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

void TransferChoice::declare(core::Options& options, std::optional<std::string> standard) {
  const char* note = standard ? "" : " [the universe's]";
  options.add("transfer NAME|FILE", std::move(standard),
              fmt::format("transfer function: {}; or a FILE of CAMB or CLASS with k in h/Mpc: two columns k, "
                          "P, or a transfer table{}",
                          core::meanings_in(kTransferFunctions), note),
              core::names_in(kTransferFunctions));
  options.add("transfer-units UNIT", "h/Mpc",
              "unit of k in that FILE: h/Mpc, with P in (Mpc/h)^3; or 1/Mpc, with P in Mpc^3",
              {"h/Mpc", "1/Mpc"});
}

TransferChoice TransferChoice::read(const core::Options& options, double h) {
  TransferChoice choice;
  choice.transfer = options.text("transfer");
  if (options.chosen("transfer-units")) choice.stated_h = options.choice("transfer-units") == "1/Mpc" ? h : 1;
  if (core::find_row(kTransferFunctions, choice.transfer) != nullptr) {
    ensure(!choice.stated_h, Fault::config,
           "--transfer-units is for a table, and --transfer is {}: leave it out.", choice.transfer);
    return choice;
  }
  ensure(std::filesystem::exists(choice.transfer), Fault::io,
         "--transfer {} is not {}, and not a file: correct the name.", choice.transfer,
         core::alternatives(core::names_in(kTransferFunctions)));
  choice.table = read_spectrum_table(choice.transfer, choice.stated_h);
  return choice;
}

void TransferChoice::check_shape(double n_s, const core::GridSpec& particles) const {
  if (table)
    ensure_covers(*table, n_s, particles);
  else
    find_transfer_function(transfer);
}

TransferFunction TransferChoice::transfer_of(const core::Cosmology& cosmology) const {
  return table ? transfer_function(*table, cosmology.n_s) : find_transfer_function(transfer)(cosmology);
}

std::string fact_of(const TransferChoice& choice) {
  constexpr std::size_t kDigits = 16;  // of the digest: no two tables share them
  return choice.table ? std::string(kTableFact) + choice.table->sha256.substr(0, kDigits) : choice.transfer;
}

}  // namespace cosmo::sim
