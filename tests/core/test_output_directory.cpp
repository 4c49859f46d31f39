#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/files.hpp"
#include "core/output_directory.hpp"
#include "core/text_file.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_directory.hpp"

using namespace cosmo::core;
namespace fs = std::filesystem;

namespace {

const Log kSilent(false, true);

Request request(int steps = 10) { return {"generate", {{"steps", steps}, {"box_mpc_h", 512.0}}, {}}; }

/// A directory that all ranks see, removed by the root.
struct SharedDirectory {
  explicit SharedDirectory(const Communicator& comm) {
    if (comm.is_root()) own.emplace();
    path = comm.broadcast(own ? own->path().string() : std::string());
    path /= "out";
  }
  std::optional<TemporaryDirectory> own;
  fs::path path;
};

/// Writes a.txt and sub/b.txt, and the manifest if asked.
void produce(const Communicator& comm, const fs::path& path, bool finish, const Request& what = request(),
             const Overwrite& overwrite = {}) {
  OutputDirectory output(comm, kSilent, path, what, overwrite);
  output.add_text("a.txt", "alpha");
  output.add_text("sub/b.txt", "beta");
  if (finish) output.finish("test", {{"simulations", 2}}, {{"host", "here"}});
}

}  // namespace

TEST_CASE("a finished output is recognised, and loaded with its files checked") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  produce(comm, shared.path, true);
  {
    const OutputDirectory again(comm, kSilent, shared.path, request(), {});
    CHECK(again.up_to_date());
  }
  const Manifest manifest = load_manifest(shared.path, "generate");
  CHECK(manifest.request.id() == request().id());
  CHECK(manifest.details.at("simulations") == 2);
  CHECK(manifest.find("sub/b.txt")->bytes == 4);
  check_content(shared.path, *manifest.find("a.txt"));
  CHECK_FALSE(fs::exists(shared.path / "journal.jsonl"));
  expect_error(Fault::format, "generate", [&] { (void)load_manifest(shared.path, "shard"); });
  comm.barrier();
  if (comm.is_root()) {
    std::ofstream(shared.path / "a.txt") << "Alpha";
    expect_error(Fault::format, "a.txt", [&] { check_content(shared.path, *manifest.find("a.txt")); });
    std::ofstream(shared.path / "a.txt") << "al";
    expect_error(Fault::format, "a.txt", [&] { (void)load_manifest(shared.path, "generate"); });
  }
  comm.barrier();
}

TEST_CASE("a directory in which nothing was made takes another request") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  { const OutputDirectory begun(comm, kSilent, shared.path, request(10), {}); }
  produce(comm, shared.path, true, request(20));
  CHECK(load_manifest(shared.path, "generate").request.id() == request(20).id());
  {
    const Slice half{0, 8};  // others may be at work beside it
    const SharedDirectory other(comm);
    { const OutputDirectory begun(comm, kSilent, other.path, request(10), {}); }
    expect_error(Fault::config, "steps",
                 [&] { const OutputDirectory slice(comm, kSilent, other.path, request(20), {}, half); });
    comm.barrier();
  }
  comm.barrier();
}

TEST_CASE("an interrupted output is continued, also with a torn journal or a lost file") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  produce(comm, shared.path, false);
  if (comm.is_root()) {
    std::ofstream(shared.path / "journal.jsonl", std::ios::app) << R"({"path":"c.txt","by)";
    fs::remove(shared.path / "a.txt");
  }
  comm.barrier();
  OutputDirectory output(comm, kSilent, shared.path, request(), {});
  CHECK_FALSE(output.up_to_date());
  CHECK(output.find("a.txt") == nullptr);
  CHECK(output.find("c.txt") == nullptr);
  REQUIRE(output.find("sub/b.txt") != nullptr);
  comm.barrier();
}

TEST_CASE("another request is refused, naming the setting, and replaced by force") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const bool finished = GENERATE(true, false);
  produce(comm, shared.path, finished);
  const auto open = [&](const Overwrite& overwrite) {
    const OutputDirectory output(comm, kSilent, shared.path, request(20), overwrite);
    return output.manifest().files.size();
  };
  expect_error(Fault::config, "steps is 10 there and 20 now", [&] { (void)open({}); });
  if (finished) CHECK(open({.force = false, .extendable = {"steps"}}) == 2);
  CHECK(open({.force = true, .extendable = {}}) == 0);
  CHECK_FALSE(fs::exists(shared.path / "sub/b.txt"));
  comm.barrier();
}

TEST_CASE("a look tells what is there and touches nothing") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const auto look = [&](const Request& what, bool force = false) {
    return OutputDirectory::look(comm, shared.path, what, {.force = force, .extendable = {}});
  };
  CHECK(look(request()).manifest.files.empty());
  CHECK_FALSE(fs::exists(shared.path));
  comm.barrier();
  const bool finished = GENERATE(true, false);
  produce(comm, shared.path, finished);
  if (comm.is_root()) {
    fs::remove(shared.path / "a.txt");
    fs::remove(shared.path / ".lock");
  }
  comm.barrier();
  const Holding same = look(request());
  CHECK(same.manifest.files.size() == 1);
  CHECK(same.manifest.find("sub/b.txt") != nullptr);
  CHECK(same.leaving == 0);
  expect_error(Fault::config, "steps is 10 there and 20 now", [&] { (void)look(request(20)); });
  const Holding replaced = look(request(20), true);
  CHECK(replaced.manifest.files.empty());
  CHECK(replaced.leaving == 4);
  comm.barrier();
  CHECK(fs::exists(shared.path / "sub/b.txt"));
  CHECK_FALSE(fs::exists(shared.path / ".lock"));
  comm.barrier();
  if (comm.is_root()) {
    for (const char* name : {"manifest.json", "journal.jsonl"}) fs::remove(shared.path / name);
  }
  comm.barrier();
  expect_error(Fault::config, "no output of this toolkit", [&] { (void)look(request()); });
  comm.barrier();
}

TEST_CASE("free disk is told of what does not exist yet, and of what cannot") {
  const TemporaryDirectory directory;
  const auto free = static_cast<double>(available_disk(directory.path()));
  CHECK(free > 0);
  for (const char* path : {"new", "new/and/newer", "new/"})
    CHECK(static_cast<double>(available_disk(directory.path() / path)) == Approx(free).epsilon(0.1));
}

TEST_CASE("what a stop in the middle of publishing leaves is put right") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  produce(comm, shared.path, true);
  if (comm.is_root()) {  // the manifest stands, the journal was not removed yet
    std::ofstream(shared.path / "journal.jsonl") << R"({"stage":"generate","torn)";
  }
  comm.barrier();
  {
    const OutputDirectory output(comm, kSilent, shared.path, request(), {});
    CHECK(output.up_to_date());
    CHECK_FALSE(fs::exists(shared.path / "journal.jsonl"));
    comm.barrier();
  }
  if (comm.is_root()) fs::remove(shared.path / "a.txt");
  comm.barrier();
  {
    OutputDirectory output(comm, kSilent, shared.path, request(), {});
    CHECK_FALSE(output.up_to_date());
    CHECK_FALSE(fs::exists(shared.path / "manifest.json"));
    output.add_text("a.txt", "alpha");  // stopped again before the manifest
  }
  comm.barrier();
  OutputDirectory output(comm, kSilent, shared.path, request(), {});
  CHECK(output.manifest().files.size() == 2);
  output.finish("test", {{"simulations", 2}}, Json::object());
  CHECK(load_manifest(shared.path, "generate").files.size() == 2);
  comm.barrier();
}

TEST_CASE("an input is never an output, nor is a directory of another stage, also by force") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  produce(comm, shared.path, true);
  const Overwrite force{.force = true, .extendable = {}};
  const Request of_another_stage{"shard", {{"grid", 64}}, {}};
  expect_error(Fault::config, "stage", [&] { produce(comm, shared.path, true, of_another_stage, force); });
  const Manifest manifest = load_manifest(shared.path, "generate");
  const Request of_itself{"generate", {{"steps", 3}}, {input_record(shared.path, manifest, shared.path)}};
  expect_error(Fault::config, "input", [&] { produce(comm, shared.path, true, of_itself, force); });
  CHECK(load_manifest(shared.path, "generate").request.id() == request().id());
  comm.barrier();
}

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
  if (foreseen) asked.foreseen = {{"a.txt", "sub/b.txt"}, {{"simulations", 2}}};
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
    CHECK(OutputDirectory::look(comm, shared.path, asked, {.force = force, .extendable = {}})
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
    altered["files"].erase(0);
    repair(altered, false);
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

TEST_CASE("a damaged manifest or journal is said to be, a line that is no record is torn") {
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
    const auto look = [&] { (void)OutputDirectory::look(comm, shared.path, request(), overwrite); };
    const auto open = [&] { OutputDirectory(comm, kSilent, shared.path, request(), overwrite); };
    expect_error(Fault::format, damaged, look);
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
  expect_error(Fault::io, "remove what is in its place", [&] { output.add_text("sub/b.txt", "beta"); });
  fs::create_directories(path / "a.txt/full");
  expect_error(Fault::io, "a.txt is a directory, where a file is to be written: remove it",
               [&] { output.add_text("a.txt", "alpha"); });
  CHECK_FALSE(fs::exists(path / "a.txt.part"));
}

TEST_CASE("a file of the output that became a directory is in the way, not a riddle") {
  const TemporaryDirectory directory;
  const Communicator comm = Communicator::world().split(Communicator::world().rank());
  const fs::path path = directory.path() / "out";
  produce(comm, path, true);
  fs::remove(path / "a.txt");
  fs::create_directories(path / "a.txt/full");
  CHECK(OutputDirectory::look(comm, path, request(), {}).leaving == 0);
  expect_error(Fault::io, "a.txt cannot be removed (Directory not empty)",
               [&] { OutputDirectory(comm, kSilent, path, request(), {}); });
}

TEST_CASE("a lock that cannot be noted names the reason") {
  const TemporaryDirectory directory;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{400, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  errno = 0;
  expect_error(Fault::io, "File too large", [&] { FileLock(directory.path() / ".lock", ByteRange{5, 1}); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

TEST_CASE("a directory with somebody else's files is not touched, one in use is not shared") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  if (comm.is_root()) {
    fs::create_directories(shared.path);
    std::ofstream(shared.path / "thesis.tex") << "years";
  }
  comm.barrier();
  expect_error(Fault::config, shared.path.string(),
               [&] { produce(comm, shared.path, true, request(), {.force = true, .extendable = {}}); });
  comm.barrier();
  if (comm.is_root()) fs::remove(shared.path / "thesis.tex");
  comm.barrier();
  const OutputDirectory holder(comm, kSilent, shared.path, request(), {});
  expect_error(Fault::io, "process", [&] { produce(comm, shared.path, true); });
  comm.barrier();
}

TEST_CASE("disjoint slices share a directory, and whoever finds all files there finishes it") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm), alone(comm);
  Request asked = request();
  asked.foreseen = {{"0.txt", "1.txt"}, {{"simulations", 2}}};
  const auto finish = [](OutputDirectory& output) {
    return output.finish_if_all("test", {{"host", "here"}});
  };
  {
    OutputDirectory first(comm, kSilent, shared.path, asked, {}, {0, 1});
    OutputDirectory second(comm, kSilent, shared.path, asked, {}, {1, 2});
    second.add_text("1.txt", "one");
    CHECK_FALSE(finish(second));
    if (comm.is_root()) {  // a third one was killed in the middle of a line
      std::ofstream(shared.path / "journal.jsonl", std::ios::app) << R"({"path":"2.txt","by)";
    }
    comm.barrier();
    first.add_text("0.txt", "Zero");
    first.add_text("0.txt", "zero");  // made again
    CHECK(first.find("1.txt") == nullptr);
    CHECK(finish(first));
    CHECK(first.find("1.txt") != nullptr);
    CHECK(finish(second));  // finds the manifest
    comm.barrier();
  }
  {
    OutputDirectory output(comm, kSilent, alone.path, asked, {});
    output.add_text("0.txt", "zero");
    output.add_text("1.txt", "one");
    CHECK(finish(output));
  }
  const auto text = [](const fs::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(text(shared.path / "manifest.json") == text(alone.path / "manifest.json"));
  CHECK_FALSE(fs::exists(shared.path / "journal.jsonl"));
  comm.barrier();
}

TEST_CASE("overlapping slices are refused, and force takes all of a directory") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const auto open = [&](const Slice& slice, bool force = false) {
    const OutputDirectory output(comm, kSilent, shared.path, request(), {.force = force, .extendable = {}},
                                 slice);
  };
  const OutputDirectory holder(comm, kSilent, shared.path, request(), {}, {2, 4});
  expect_error(Fault::io, "process", [&] { open({3, 5}); });
  comm.barrier();
  expect_error(Fault::io, "process", [&] { open({}); });
  comm.barrier();
  expect_error(Fault::io, "process", [&] { open({0, 1}, true); });
  comm.barrier();
  open({0, 2});
  open({4, 9});
  comm.barrier();
}

TEST_CASE("the id is that of the request alone and does not change between versions") {
  // hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()) in Python.
  CHECK(request().id() == "sha256:84e8b5bebf52979e8c1bacbcb6df528dda2da7c4f380b70003025f28c6c28ac3");
}
