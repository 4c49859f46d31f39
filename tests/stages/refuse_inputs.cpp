// Refusals of inputs that are missing, damaged or of another kind.
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/stages/refusals.hpp"

namespace cosmo {

using core::Fault;

namespace {

namespace fs = std::filesystem;

}  // namespace

void refuse_inputs_that_are_missing(const Made& made) {
  made.refuse({
      {"cosmo-prep shard --input D/absent --output D/never", Fault::io, {"D/absent"}},
      {"cosmo-prep verify D/absent", Fault::io, {"D/absent"}},
      {"cosmo-train --data D/absent --output D/never", Fault::io, {"D/absent"}},
      {"cosmo-infer --model D/absent --data D/data --output D/never", Fault::io, {"D/absent"}},
      {"cosmo-infer --model D/model --input D/absent", Fault::io, {"D/absent"}},
      {"cosmo-prep shard --input D/data --output D/never", Fault::format, {"D/data", "generate"}},
      {"cosmo-train --data D/sim --output D/never", Fault::format, {"D/sim", "shard"}},
      {"cosmo-infer --model D/model --input D/data", Fault::config, {"D/data", "--data"}},
  });
}

void refuse_damaged_inputs(const Made& made) {
  made.copy("data", "truncated");
  const std::string shard = "D/truncated/train/shard-00001.h5";
  const fs::path path = made.at("truncated/train/shard-00001.h5");
  made.change([&] { fs::resize_file(path, fs::file_size(path) - 1000); });
  made.refuse({
      {"cosmo-prep verify D/truncated", Fault::format, {shard}},
      {"cosmo-train --data D/truncated --network cosmoflow32 --output D/never", Fault::format, {shard}},
      {"cosmo-infer --model D/model --data D/truncated --output D/never", Fault::format, {shard}},
  });
  made.change([&] { fs::remove(path); });
  made.refuse("cosmo-prep verify D/truncated", Fault::format, {shard});

  made.copy("data", "flipped");
  const fs::path flipped = made.at("flipped/train/shard-00000.h5");
  made.change([&] {
    std::string bytes = content(flipped);
    bytes[bytes.size() / 2] ^= 4;
    std::ofstream(flipped, std::ios::binary) << bytes;
  });
  const std::string name = "D/flipped/train/shard-00000.h5";
  made.refuse({
      {"cosmo-prep verify D/flipped", Fault::format, {name}},
      {"cosmo-train --data D/flipped --network cosmoflow32 --output D/never2", Fault::format, {name}},
  });

  made.copy("data", "altered");
  const std::string manifest = content(made.at("altered/manifest.json"));
  const std::string in = "D/altered/manifest.json";
  made.write("altered/manifest.json", replaced(manifest, "\"subvolumes\": 2", "\"subvolumes\": 4"));
  made.refuse("cosmo-prep verify D/altered", Fault::format, {in});
  made.write("altered/manifest.json", manifest.substr(0, manifest.size() - 20));
  made.refuse("cosmo-prep verify D/altered", Fault::format, {in});
}

void refuse_data_that_do_not_fit_the_model(const Made& made) {
  made.succeed("cosmo-prep shard --input D/sim --validation 1 --test 1 --subvolumes 1 --output D/whole");
  made.succeed(replaced(kSim, "--box 64", "--box 128") + "--output D/coarse");
  made.succeed("cosmo-prep shard --input D/coarse --validation 1 --test 1 --output D/coarse-data");
  made.succeed("cosmo-sim generate --box 50 --particles 16 --steps 1 --save particles --output D/particles");
  made.refuse({
      {"cosmo-infer --model D/model --data D/whole --output D/never", Fault::config, {"D/whole"}},
      {"cosmo-infer --model D/model --data D/coarse-data --output D/never",
       Fault::config,
       {"D/coarse-data", "Mpc/h"}},
      {"cosmo-infer --model D/model --input D/coarse/sim-00000/counts_z0.h5",
       Fault::config,
       {"counts_z0.h5", "Mpc/h"}},
      {"cosmo-infer --model D/model --input D/particles/sim-00000/snapshot_z0.hdf5",
       Fault::config,
       {"snapshot_z0.hdf5", "multiple of 32"}},
  });
}

}  // namespace cosmo
