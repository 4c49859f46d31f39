#include "infer/predict/costs.hpp"

#include "core/log.hpp"
#include "core/machine/memory.hpp"
#include "infer/predict/predictor.hpp"
#include "nn/network.hpp"

namespace cosmo::infer {

std::uint64_t network_bytes(Models models, int batch, std::span<const nn::Share> shares) {
  std::uint64_t bytes = 0;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const nn::ModelManifest& model = models[m];
    bytes +=
        nn::Network::planned_bytes(model.network, model.input, model.outputs(), batch, nn::Mode::inference,
                                   arithmetic_of(model), shares.empty() ? nullptr : &shares[m]);
  }
  return bytes;
}

std::uint64_t memory_bytes(Models models, const dataset::SampleSpec& spec,
                           const dataset::LoaderConfig& loader, std::span<const nn::Share> shares) {
  return network_bytes(models, loader.micro_batch, shares) + core::kLibraryMemory + core::resident_memory() +
         dataset::DataLoader::memory_bytes(spec, transform_of(models.front()), loader);
}

void Costs::note(const core::Communicator& comm, Models models, std::uint64_t all_samples, double own_seconds,
                 const dataset::ReadStatistics& reading) {
  samples = all_samples;
  seconds = comm.max(own_seconds);
  waited = comm.max(reading.waited);
  for (const nn::ModelManifest& model : models) {
    flop += static_cast<double>(nn::take_census(model.network, model.input, model.outputs()).forward_flop());
  }
  memory_peak = comm.max(core::peak_resident_memory());
}

core::Json Costs::to_json() const {
  const double rate = static_cast<double>(samples) / seconds;
  return {{"samples", samples},           {"seconds", seconds},
          {"samples_per_second", rate},   {"gflops", rate * flop / 1e9},
          {"waiting_seconds", waited},    {"memory_bytes_predicted", memory_predicted},
          {"peak_rss_bytes", memory_peak}};
}

std::string Costs::text() const {
  const double rate = static_cast<double>(samples) / seconds;
  return fmt::format("{} samples in {}: {:.4g} samples/s, {:.4g} Gflop/s, {} resident per rank", samples,
                     core::format_duration(seconds), rate, rate * flop / 1e9,
                     core::format_bytes(static_cast<double>(memory_peak)));
}

}  // namespace cosmo::infer
