#include "infer/prediction_file.hpp"

#include <fstream>

#include "core/error.hpp"

namespace cosmo::infer {

void write_predictions(const std::filesystem::path& path, const dataset::PredictionTable& table) {
  std::ofstream file(path);
  file << "simulation,subvolume,seed";
  for (const std::string& name : table.parameters.names) file << fmt::format(",true_{0},predicted_{0}", name);
  file << '\n';
  for (const dataset::PredictionRow& row : table.rows) {
    file << fmt::format("{},{},{}", row.simulation, row.subvolume, row.seed);
    for (std::size_t p = 0; p < row.truth.size(); ++p)
      file << fmt::format(",{},{}", row.truth[p], row.prediction[p]);
    file << '\n';
  }
  file.close();
  core::ensure(file.good(), core::Fault::io, "{} cannot be written: check free space and permissions.",
               path.string());
}

}  // namespace cosmo::infer
