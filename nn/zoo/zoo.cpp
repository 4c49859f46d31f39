#include "nn/zoo/zoo.hpp"

#include <array>
#include <string>

#include "core/named.hpp"

namespace cosmo::nn {

namespace {

constexpr std::array<NetworkEntry, 11> kNetworks = {{
    {"cosmonet32", &zoo::cosmonet32, "normalised means of four levels, for 32³ inputs", 1, 32, 3},
    {"cosmonet64", &zoo::cosmonet64, "the same with five levels, for 64³ inputs", 1, 64, 3},
    {"cosmonet128", &zoo::cosmonet128, "the same with six levels, for 128³ inputs", 1, 128, 3},
    {"cosmonet256", &zoo::cosmonet256, "the same with seven levels, for 256³ inputs", 1, 256, 3},
    {"cosmonet512", &zoo::cosmonet512, "the same with eight levels, for 512³ inputs", 1, 512, 3},
    {"cosmoflow", &zoo::cosmoflow, "the 2018 paper's network, for 128³ inputs", 1, 128, 3},
    {"cosmoflow64", &zoo::cosmoflow64, "its smaller relative, for 64³ inputs", 1, 64, 3},
    {"cosmoflow32", &zoo::cosmoflow32, "a small network for 32³ inputs", 1, 32, 3},
    {"mlperf", &zoo::mlperf, "MLPerf HPC's CosmoFlow, for 128³ inputs or others from 32³ on", 4, 128, 4},
    {"reconet", &zoo::reconet, "a U-Net for --target, for inputs whose side is a multiple of 8, from 16³ on",
     1, 64, 1},
    {"webnet", &zoo::webnet, "the same for the classes of --target web", 1, 64, 4},
}};

}  // namespace

std::span<const NetworkEntry> networks() { return kNetworks; }

NetworkSpec find_network(std::string_view name) {
  return core::row_called(kNetworks, name, "--network").make();
}

}  // namespace cosmo::nn
