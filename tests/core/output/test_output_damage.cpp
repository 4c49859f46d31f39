#include <catch2/catch.hpp>
#include <fstream>

#include "core/file/text_file.hpp"
#include "core/output/output_directory.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/shared_output.hpp"

using namespace cosmo::core;
namespace fs = std::filesystem;

TEST_CASE("force makes damaged files again") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  produce(comm, shared.path, true);
  if (comm.is_root()) std::ofstream(shared.path / "a.txt") << "alphA";
  comm.barrier();
  const OutputDirectory output(comm, kSilent, shared.path, request(), {.force = true, .extendable = {}});
  CHECK_FALSE(output.up_to_date());
  CHECK(output.find("a.txt") == nullptr);
  CHECK(output.find("sub/b.txt") != nullptr);
  comm.barrier();
}

TEST_CASE("an altered manifest is written again, of the files that have their content") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const bool foreseen = GENERATE(true, false);
  Request asked = request();
  if (foreseen) {
    asked.foreseen = {{"a.txt", "sub/b.txt"},
                      {{"simulations", 2}},
                      {[](Json details) {
                         details.erase("simulations");
                         details["universes"] = 2;
                         return details;
                       },
                       [](Json details) {
                         details["boxes"] = details["universes"];
                         details.erase("universes");
                         return details;
                       }}};
  }
  produce(comm, shared.path, true, asked);
  const fs::path path = shared.path / "manifest.json";
  const Json whole = read_json(path);
  const auto repair = [&](const Json& altered, bool force) {
    comm.barrier();
    if (comm.is_root()) {
      write_text(path, altered.dump(1) + "\n");
      write_text(shared.path.parent_path() / "a.txt", "alpha");
    }
    comm.barrier();
    CHECK(OutputDirectory::inspect(comm, shared.path, asked, {.force = force, .extendable = {}})
              .manifest.find("sub/b.txt") != nullptr);
    OutputDirectory output(comm, kSilent, shared.path, asked, {.force = force, .extendable = {}});
    CHECK_FALSE(output.up_to_date());
    CHECK(output.find("../a.txt") == nullptr);
    CHECK(output.find("sub/b.txt") != nullptr);
    if (output.find("a.txt") == nullptr) output.add_text("a.txt", "alpha");
    output.finish("test", {{"simulations", 2}}, {{"host", "here"}});
    CHECK(read_json(path) == whole);
    comm.barrier();
  };
  for (const bool force : {false, true}) {
    for (const auto& [pointer, value] :
         std::vector<std::pair<const char*, Json>>{{"/id", "sha256:0"},
                                                   {"/schema", 1},
                                                   {"/config/steps", 20},
                                                   {"/code", ""},
                                                   {"/files/0/path", "../a.txt"}}) {
      Json altered = whole;
      altered[Json::json_pointer(pointer)] = value;
      repair(altered, force);
    }
  }
  if (foreseen) {
    Json altered = whole;
    altered["simulations"] = 3;
    repair(altered, false);
    altered = whole;
    altered.erase("simulations");
    repair(altered, false);
    altered = whole;
    altered["files"].erase(0);
    repair(altered, false);
  }
  comm.barrier();
  for (const char* name : {"universes", "boxes"}) {  // earlier versions recorded the same otherwise
    if (!foreseen) break;
    if (comm.is_root()) {
      Json earlier = whole;
      earlier.erase("simulations");
      earlier[name] = 2;
      write_text(path, earlier.dump());
    }
    comm.barrier();
    CHECK(OutputDirectory(comm, kSilent, shared.path, asked, {}).up_to_date());
    comm.barrier();
  }
  comm.barrier();
  if (comm.is_root()) {  // of the same size
    Json altered = whole;
    altered["id"] = "sha256:0";
    write_text(path, altered.dump());
    write_text(shared.path / "a.txt", "alphA");
  }
  comm.barrier();
  const OutputDirectory output(comm, kSilent, shared.path, asked, {});
  CHECK(output.find("a.txt") == nullptr);
  comm.barrier();
}

TEST_CASE("a damaged manifest or journal is reported, and a line that is not a record counts as torn") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const bool finished = GENERATE(true, false);
  const fs::path path = shared.path / (finished ? "manifest.json" : "journal.jsonl");
  const Overwrite overwrite{.force = GENERATE(true, false), .extendable = {}};
  produce(comm, shared.path, finished);
  for (const char* text :
       {"", "{}", "[]", R"({"path":"a.txt","bytes":5,"sha256":""})", R"({"stage":"generate"})"}) {
    if (comm.is_root()) write_text(path, text);
    comm.barrier();
    const std::string damaged =
        path.string() + " is damaged: remove the directory or choose another --output.";
    const auto inspect = [&] { (void)OutputDirectory::inspect(comm, shared.path, request(), overwrite); };
    const auto open = [&] { OutputDirectory(comm, kSilent, shared.path, request(), overwrite); };
    expect_error(Fault::format, damaged, inspect);
    expect_error(Fault::format, damaged, open);
    comm.barrier();
  }
  comm.barrier();
  if (comm.is_root()) {
    fs::remove(path);
    fs::create_directory(path);
  }
  comm.barrier();
  expect_error(finished ? Fault::io : Fault::format, "is damaged",
               [&] { OutputDirectory(comm, kSilent, shared.path, request(), overwrite); });
  comm.barrier();
  if (comm.is_root()) fs::remove_all(shared.path);
  comm.barrier();
  produce(comm, shared.path, false);
  if (comm.is_root())
    write_text(shared.path / "journal.jsonl", "{}\n[]\n{\"path\":\"c.txt\"}\n", std::ios::app);
  comm.barrier();
  const OutputDirectory output(comm, kSilent, shared.path, request(), {});
  CHECK(output.manifest().files.size() == 2);
  comm.barrier();
}

TEST_CASE("what is in the way of a file is named, and no part of it is written") {
  const TemporaryDirectory directory;
  const Communicator comm = Communicator::world().split(Communicator::world().rank());
  const fs::path path = directory.path() / "out";
  OutputDirectory output(comm, kSilent, path, request(), {});
  write_text(path / "sub", "a file");
  expect_error(Fault::io, "sub is not a directory: remove it", [&] { output.add_text("sub/b.txt", "beta"); });
  fs::create_directories(path / "a.txt/full");
  expect_error(Fault::io, "a.txt is a directory, where a file is to be written: remove it",
               [&] { output.add_text("a.txt", "alpha"); });
  CHECK_FALSE(fs::exists(path / "a.txt.part"));
}

TEST_CASE("a file of the output that became a directory is reported as being in the way") {
  const TemporaryDirectory directory;
  const Communicator comm = Communicator::world().split(Communicator::world().rank());
  const fs::path path = directory.path() / "out";
  produce(comm, path, true);
  fs::remove(path / "a.txt");
  fs::create_directories(path / "a.txt/full");
  CHECK(OutputDirectory::inspect(comm, path, request(), {}).leaving == 0);
  expect_error(Fault::io, "a.txt cannot be removed (Directory not empty)",
               [&] { OutputDirectory(comm, kSilent, path, request(), {}); });
}
