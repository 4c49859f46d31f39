// Networks that users describe.
#include "core/format/json.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"
#include "tests/faults/fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cosmo;
  const std::filesystem::path path = fuzz::file_of(data, size);
  fuzz::read_or_refuse([&] {
    const auto spec = core::read_json(path).get<nn::NetworkSpec>();
    const nn::NetworkCensus census = nn::take_census(spec, {2, 64}, 3);
    (void)(census.parameters() + census.useful_flop() + census.paper_flop());
  });
  return 0;
}
