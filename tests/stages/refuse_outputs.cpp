// Refusals of places that hold something else, and of damaged output.
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "tests/stages/refusals.hpp"

namespace cosmo {

using core::Fault;

namespace {

namespace fs = std::filesystem;

/// Sizes and times are those of before too: it was not written again.
std::map<std::string, fs::file_time_type> times_in(const fs::path& directory) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    times[entry.path().string()] = entry.last_write_time();
  return times;
}

}  // namespace

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

}  // namespace cosmo
