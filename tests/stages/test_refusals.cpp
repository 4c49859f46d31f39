// What the tools refuse: one sentence that names what is wrong, and an exit code, the same on any number of
// ranks.

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/file/input_file.hpp"
#include "sim/linear/transfer_function.hpp"
#include "tests/stages/chain.hpp"

using namespace cosmo;
using core::Fault;

namespace {

namespace fs = std::filesystem;

struct Refusal {
  std::string line;
  Fault fault;
  std::vector<std::string> parts;  ///< that the sentence has
};

const std::string kGenerate = "cosmo-sim generate --output D/never ";
const std::string kShard = "cosmo-prep shard --input D/sim --output D/never ";
const std::string kTrain = "cosmo-train --data D/data --output D/never ";
const std::string kTrain32 = kTrain + "--network cosmoflow32 ";
const std::string kSim =
    "cosmo-sim generate --simulations 6 --omega-m 0.25:0.35 --box 64 --particles 32 --grid 64 --steps 2 ";

/// A suite of six universes of 64³ voxels, 32 samples to train on, a model and its predictions.
struct Made : Chain {
  Made() {
    change([&] { fs::create_directories(directory.path); });
    for (const std::string& line :
         {kSim + "--output D/sim",
          std::string("cosmo-prep shard --input D/sim --validation 1 --test 1 "
                      "--samples-per-shard 20 --output D/data"),
          std::string(
              "cosmo-train --data D/data --network cosmoflow32 --epochs 1 --global-batch 8 --output D/model"),
          std::string("cosmo-infer --model D/model --data D/data --baselines centre --output D/predictions")})
      succeed(line);
  }

  void succeed(const std::string& line) const {
    const core::Ended ended = run(line + " --threads 1");
    CAPTURE(line, ended.said.remarks);
    REQUIRE(ended.exit_code == 0);
  }

  void refuse(const std::string& line, Fault fault, const std::vector<std::string>& parts) const {
    CAPTURE(line);
    check_error(run(line + " --threads 1"), fault, parts);
  }

  void refuse(const std::vector<Refusal>& refusals) const {
    for (const auto& [line, fault, parts] : refusals) refuse(line, fault, parts);
    CHECK_FALSE(fs::exists(at("never")));
  }

  void write(const std::string& name, const std::string& text) const {
    change([&] { std::ofstream(at(name), std::ios::binary) << text; });
  }

  /// Refuses a line that reads a file with this content.
  void refuse_content(const std::string& name, const std::string& content, const Refusal& refusal) const {
    write(name, content);
    refuse({refusal});
  }

  /// A copy of a directory that may be damaged.
  void copy(const std::string& from, const std::string& to) const {
    change([&] { fs::copy(at(from), at(to), fs::copy_options::recursive); });
  }
};

std::string content(const fs::path& path) { return core::read_text(path, std::size_t{1} << 30); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

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

void refuse_words(const Made& made) {
  made.write("settings.ini", "omega-q = 3\n");
  made.write("flags.ini", "force = yes\n");
  for (const std::string tool :
       {"cosmo-sim generate ", "cosmo-prep shard ", "cosmo-train ", "cosmo-infer "}) {
    made.refuse({{tool + "--omega-q 3", Fault::usage, {"--omega-q"}},
                 {tool + "--config D/settings.ini", Fault::usage, {"omega-q", "D/settings.ini"}},
                 {tool + "--config D/flags.ini", Fault::usage, {"--force"}},
                 {tool + "--config D/absent.ini", Fault::io, {"D/absent.ini"}}});
  }
  made.write("binary.ini", std::string("\x7f"
                                       "ELF\0\x1b[31m",
                                       10));
  made.refuse({
      {"cosmo-sim simulate", Fault::usage, {"simulate", "generate"}},
      {"cosmo-prep", Fault::usage, {"command"}},
      {kGenerate + "--config D/", Fault::io, {"--config"}},
      {kGenerate + "--config D/binary.ini", Fault::usage, {"D/binary.ini", "not text"}},
      {kGenerate + "--seed 18446744073709551615",
       Fault::config,
       {"--seed is 18446744073709551615", "between 0 and 9007199254740991"}},
      {kGenerate + "--mesh 99999999999999999999", Fault::config, {"--mesh is", "between 4 and 8192"}},
      {kGenerate + "--omega-m 0.3:", Fault::usage, {"--omega-m is '0.3:'", "LOW:HIGH"}},
      {kGenerate + "--omega-m 0.1:0.2:0.3", Fault::usage, {"0.1:0.2:0.3", "LOW:HIGH"}},
      {"cosmo-sim generate --output bad\xff", Fault::usage, {"--output", "UTF-8"}},
      {"cosmo-sim generate", Fault::usage, {"--output"}},
      {"cosmo-train --output D/never", Fault::usage, {"--data"}},
      {"cosmo-infer --data D/data --output D/never", Fault::usage, {"--model"}},
      {"cosmo-infer --input D/sim/sim-00000/counts_z0.h5", Fault::usage, {"--model"}},
      {"cosmo-infer --model D/model", Fault::usage, {"--data", "--input"}},
  });
}

void refuse_values_of_universes(const Made& made) {
  made.refuse({
      {kGenerate + "--box wide", Fault::usage, {"--box"}},
      {kGenerate + "--seed 1.5", Fault::usage, {"--seed"}},
      {kGenerate + "--sigma8 0", Fault::config, {"sigma8"}},
      {kGenerate + "--box -5", Fault::config, {"--box"}},
      {kGenerate + "--mesh 3", Fault::config, {"--mesh is 3"}},
      {kGenerate + "--omega-m -0.1", Fault::config, {"omega_m is -0.1"}},
      {kGenerate + "--w0 -0.5 --wa 0.5", Fault::config, {"w0 is -0.5", "wa 0.5"}},
      {kGenerate + "--box 100kpc", Fault::usage, {"--box", "100kpc"}},
      {kGenerate + "--box 0Mpc",
       Fault::config,
       {"--box is 0 Mpc: choose a value between 1.42248 and 142248."}},
      {kGenerate + "--box 1.5Mpc --h 0.6:0.8 --simulations 20", Fault::config, {"--box is 1.5 Mpc"}},
      {kGenerate + "--simulations 4 --omega-m 0.01:0.3", Fault::config, {"omega_m"}},
  });
}

void refuse_cuts(const Made& made) {
  made.refuse({
      {kShard + "--subvolumes 3", Fault::config, {"--grid", "--subvolumes"}},
      {kShard + "--grid 48", Fault::config, {"--grid"}},
      {kShard + "--validation 4 --test 2", Fault::config, {"--validation"}},
  });
}

void refuse_values_of_trainings(const Made& made) {
  made.refuse({
      {kTrain32 + "--loss l3", Fault::usage, {"--loss", "mae or mse"}},
      {kTrain32 + "--micro-batch 0", Fault::config, {"--micro-batch"}},
      {kTrain32 + "--global-batch 50",
       Fault::config,
       {"--global-batch 50 exceeds the 32 training samples of D/data"}},
      {kTrain32 + "--dropout 0.5", Fault::config, {"--dropout 0.5", "no dropout layers"}},
      {kTrain + "--network mlperf --dropout 1", Fault::config, {"probability 1", "--dropout"}},
      {kTrain32 + "--momentum 0.5 --optimizer larc-adam", Fault::usage, {"--momentum", "--optimizer sgd"}},
      {kTrain32 + "--optimizer sgd --larc off", Fault::usage, {"--larc", "--optimizer larc-adam"}},
      {kTrain32 + "--optimizer sgd:1", Fault::config, {"momentum of --optimizer sgd", "below 1"}},
      {kTrain32 + "--optimizer sgd:fast", Fault::usage, {"--optimizer is 'sgd:fast': give a finite number"}},
      {kTrain32 + "--optimizer adamw:2", Fault::config, {"weight decay", "below 1"}},
      {kTrain32 + "--optimizer larc-adam:lars", Fault::config, {"larc-adam", "trust-ratio"}},
      {kTrain32 + "--loss mse:3", Fault::usage, {"only mixture takes a number"}},
      {kTrain32 + "--drops 3", Fault::usage, {"--drops", "EPOCH:FACTOR"}},
      {kTrain32 + "--decay-at 3", Fault::usage, {"1 epochs and 0 factors"}},
      {kTrain32 + "--drops 5:0.5,3:0.25", Fault::config, {"--drops"}},
      {kTrain32 + "--drops 1:0.5,1e300:0.25",
       Fault::config,
       {"--drops, 1, 1e+300, do not rise between 0 and 1000000"}},
      {kTrain32 + "--drops 1:0.5,1.1:0.25", Fault::config, {"--drops", "a step apart"}},
      {kTrain32 + "--drops 1:2", Fault::config, {"factor 2 of --drops is not above 0 and at most 1"}},
      {kTrain32 + "--average 0", Fault::config, {"--average", "above 0 and below 1, or off"}},
      {kTrain32 + "--learning-rate -1", Fault::config, {"--learning-rate -1 is not above 0: give"}},
      {kTrain32 + "--learning-rate 1e-4 --min-learning-rate 1e-3",
       Fault::config,
       {"--min-learning-rate 0.001 is not between 0 and the --learning-rate 0.0001"}},
      {kTrain32 + "--recipe paper --weight-decay 0.1",
       Fault::usage,
       {"--weight-decay applies only with --optimizer adamw", "larc-adam, that of --recipe paper",
        "leave it out, or give"}},
      {kTrain32 + "--recipe robust",
       Fault::config,
       {"--recipe robust", "D/data have the same", "--input A,B,C", "--mesh 64,128"}},
      {kTrain32 + "--smooth 1e6", Fault::config, {"--smooth 1000000", "a quarter of the box"}},
      {kTrain32 + "--optimizer sgd --weight-decay 0.1",
       Fault::usage,
       {"this training has sgd: leave it out"}},
      {kTrain + "--init-from D/model", Fault::usage, {"--init-from needs --network"}},
      {kTrain32 + "--convolution quick", Fault::usage, {"--convolution", "auto or direct or filtered"}},
      {kTrain32 + "--convolution filtered",
       Fault::config,
       {"cosmoflow32", "conv2 has stride 2", "--convolution filtered"}},
      {kTrain + "--network nosuchnet", Fault::usage, {"nosuchnet", "--network"}},
      {kTrain + "--network cosmoflow", Fault::config, {"conv"}},
      {"cosmo-infer --model D/model --data D/data --split exam --output D/never", Fault::usage, {"--split"}},
  });
  for (const std::string epochs : {"-1", "5.5", "99999999999", "1e+300"}) {
    made.refuse(kTrain32 + "--epochs 5 --warmup-epochs " + epochs, Fault::config,
                {"--warmup-epochs " + epochs + " is not between 0 and the 5 of --epochs"});
  }
  const int ranks = made.comm.size();
  made.refuse(kTrain32 + "--global-batch 8 --micro-batch 3", Fault::config,
              {fmt::format("--global-batch 8 is not a multiple of --micro-batch 3 × {} ranks", ranks)});
}

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

/// Sizes and times are those of before too: it was not written again.
std::map<std::string, fs::file_time_type> times_in(const fs::path& directory) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    times[entry.path().string()] = entry.last_write_time();
  return times;
}

void refuse_the_output_of_another_run(const Made& made) {
  const auto before = times_in(made.directory.path);
  made.refuse({
      {kSim + "--seed 2 --output D/sim", Fault::config, {"D/sim", "seed is ", "--force"}},
      {"cosmo-prep shard --input D/sim --validation 1 --test 1 --samples-per-shard 20 --seed 2 --output "
       "D/data",
       Fault::config,
       {"D/data", "seed is ", "--force"}},
      {"cosmo-train --data D/data --network cosmoflow32 --epochs 1 --global-batch 8 --loss mae --output "
       "D/model",
       Fault::config,
       {"D/model", "loss is ", "--force"}},
      {"cosmo-infer --model D/model --data D/data --baselines centre --split train --output D/predictions",
       Fault::config,
       {"D/predictions", "split is ", "--force"}},
      {kSim + "--output D/sim/sim-00001", Fault::config, {"D/sim/sim-00001"}},
  });
  for (const std::string force : {"", " --force"}) {
    made.refuse({
        {"cosmo-prep shard --input D/sim --output D/sim" + force, Fault::config, {"D/sim", "input"}},
        {"cosmo-prep shard --input D/sim --output D/model" + force, Fault::config, {"D/model", "stage"}},
    });
  }
  CHECK(times_in(made.directory.path) == before);
}

void refuse_damaged_outputs(const Made& made) {
  const std::string shard =
      "cosmo-prep shard --input D/sim --validation 1 --test 1 --samples-per-shard 20 --output D/torn";
  made.copy("data", "torn");
  const std::string whole = content(made.at("torn/manifest.json"));
  made.write("torn/manifest.json", "");
  for (const std::string force : {"", " --force"})
    made.refuse(shard + force, Fault::format, {"D/torn", "remove the directory"});
  for (const auto& [ours, altered] :
       {std::pair("\"id\": \"sha256:", "\"id\": \"sha256:0"), {"\"validation\": 1", "\"validation\": 2"}}) {
    made.write("torn/manifest.json", replaced(whole, ours, altered));
    made.succeed(shard);  // writes it again
    CHECK(content(made.at("torn/manifest.json")) == whole);
    made.comm.barrier();
  }

  const std::string generate = "cosmo-sim generate --simulations 3 --particles 16 --steps 1 --output D/begun";
  made.succeed(generate + " --select 0:2");
  const std::string journal = content(made.at("begun/journal.jsonl"));
  for (const std::string& text :
       {std::string(), std::string("{}\n"), journal.substr(journal.find('\n') + 1)}) {
    made.write("begun/journal.jsonl", text);
    for (const std::string force : {"", " --force"}) {
      made.refuse(generate + force, Fault::format,
                  {"D/begun/journal.jsonl is damaged: remove the directory or choose another --output."});
    }
  }
  made.write("begun/journal.jsonl", journal + "{}\n[1]\n");  // which are not records
  made.succeed(generate);
}

void refuse_what_stands_in_the_way(const Made& made) {
  const std::string generate = "cosmo-sim generate --simulations 2 --particles 16 --steps 1 --output ";
  for (const auto& [name, fault] :
       {std::pair("manifest.json", Fault::io), {"journal.jsonl", Fault::format}}) {
    const std::string output = std::string("directory-") + name;
    made.change([&] { fs::create_directories(made.at(output) / name); });
    made.refuse(generate + "D/" + output, fault,
                {"D/" + output + "/" + name, "is damaged: remove the directory"});
  }
  made.refuse("cosmo-prep verify D/directory-manifest.json", Fault::io, {"manifest.json"});
  made.succeed(generate + "D/file-for-a-directory --select 0:1");
  made.write("file-for-a-directory/sim-00001", "");
  made.refuse(generate + "D/file-for-a-directory --ranks-per-simulation 1", Fault::io,
              {"D/file-for-a-directory/sim-00001", "is not a directory: remove it"});
  made.succeed(generate + "D/directory-for-a-file --select 0:1");
  made.change([&] { fs::create_directories(made.at("directory-for-a-file/sim-00001/counts_z0.h5")); });
  made.refuse(generate + "D/directory-for-a-file --ranks-per-simulation 1", Fault::io,
              {"D/directory-for-a-file/sim-00001/counts_z0.h5", "is a directory", "remove it"});
}

void refuse_to_replace_files_by_networks(const Made& made) {
  const std::string onnx = "cosmo-infer export --model D/model --output D/";
  made.succeed(onnx + "model.onnx");
  made.succeed(onnx + "model.onnx");  // up to date
  made.write("notes.onnx", "notes");
  made.refuse(onnx + "notes.onnx --force", Fault::config, {"D/notes.onnx is not an ONNX file"});
  const core::Ended plan = made.run(onnx + "notes.onnx --dry-run --json");
  CHECK(plan.exit_code == 0);
  if (made.is_root) {
    CHECK(plan.said.remarks.find("is not an ONNX file") != std::string::npos);
    CHECK(core::Json::parse(plan.said.results).at("refusals").size() == 1);
    CHECK(content(made.at("notes.onnx")) == "notes");
  }
  made.write("other.onnx", "\x08\x07 another network");
  made.refuse(onnx + "other.onnx", Fault::config, {"D/other.onnx holds another network", "--force"});
  made.succeed(onnx + "other.onnx --force");
  if (made.is_root) CHECK(content(made.at("other.onnx")) == content(made.at("model.onnx")));
}

}  // namespace

TEST_CASE("what cannot be done is refused in one sentence") {
  const Made made;
  refuse_words(made);
  refuse_values_of_universes(made);
  refuse_cuts(made);
  refuse_values_of_trainings(made);
  refuse_tables_of_the_spectrum(made);
  refuse_designs(made);
  refuse_inputs_that_are_missing(made);
  refuse_the_output_of_another_run(made);
  refuse_damaged_inputs(made);
  refuse_data_that_do_not_fit_the_model(made);
  refuse_damaged_outputs(made);
  refuse_what_stands_in_the_way(made);
  refuse_to_replace_files_by_networks(made);
}
