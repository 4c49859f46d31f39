#include <catch2/catch.hpp>
#include <fstream>

#include "core/file/checksum.hpp"
#include "core/file/files.hpp"
#include "core/output/output_directory.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/shared_output.hpp"

using namespace cosmo::core;
namespace fs = std::filesystem;

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

TEST_CASE("a retired file goes when a run was stopped between publishing the manifest and removing it") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  produce(comm, shared.path, false);
  const fs::path journal = shared.path / "journal.jsonl", kept = shared.path / "kept.part";
  if (comm.is_root()) fs::copy_file(journal, kept);
  {
    OutputDirectory output(comm, kSilent, shared.path, request(), {});
    output.retire("a.txt");
    output.finish("cosmo-sim", {{"simulations", 2}}, Json::object());
    CHECK_FALSE(fs::exists(shared.path / "a.txt"));
    CHECK_FALSE(fs::exists(journal));
  }
  comm.barrier();
  if (comm.is_root()) {
    std::ofstream(shared.path / "a.txt") << "alpha";
    fs::rename(kept, journal);
  }
  comm.barrier();
  const OutputDirectory again(comm, kSilent, shared.path, request(), {});
  CHECK(again.up_to_date());
  CHECK_FALSE(fs::exists(shared.path / "a.txt"));
  CHECK(fs::exists(shared.path / "sub/b.txt"));
  CHECK_FALSE(fs::exists(journal));
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
  Request rounded = request();
  rounded.config["steps"] = 0.05 * 3;
  expect_error(Fault::config, "steps is 10 there and 0.15 now",
               [&] { (void)OutputDirectory(comm, kSilent, shared.path, rounded, {}); });
  Request hashed = request(), other = request();
  hashed.config["checkpoint"] = sha256("a");
  other.config["checkpoint"] = sha256("b");
  const SharedDirectory another(comm);
  produce(comm, another.path, finished, hashed);
  expect_error(Fault::config, "another output (checkpoint differs)",
               [&] { (void)OutputDirectory(comm, kSilent, another.path, other, {}); });
  if (finished) CHECK(open({.force = false, .extendable = {"steps"}}) == 2);
  CHECK(open({.force = true, .extendable = {}}) == 0);
  CHECK_FALSE(fs::exists(shared.path / "sub/b.txt"));
  comm.barrier();
}

TEST_CASE("looking at a directory reports what is there and changes nothing") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const auto inspect = [&](const Request& what, bool force = false) {
    return OutputDirectory::inspect(comm, shared.path, what, {.force = force, .extendable = {}});
  };
  CHECK(inspect(request()).manifest.files.empty());
  CHECK_FALSE(fs::exists(shared.path));
  comm.barrier();
  const bool finished = GENERATE(true, false);
  produce(comm, shared.path, finished);
  if (comm.is_root()) {
    fs::remove(shared.path / "a.txt");
    fs::remove(shared.path / ".lock");
  }
  comm.barrier();
  const OutputState same = inspect(request());
  CHECK(same.manifest.files.size() == 1);
  CHECK(same.manifest.find("sub/b.txt") != nullptr);
  CHECK(same.leaving == 0);
  expect_error(Fault::config, "steps is 10 there and 20 now", [&] { (void)inspect(request(20)); });
  const OutputState replaced = inspect(request(20), true);
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
  expect_error(Fault::config, "not output of this toolkit", [&] { (void)inspect(request()); });
  comm.barrier();
}

TEST_CASE("free disk space is reported for paths that do not exist") {
  const TemporaryDirectory directory;
  const auto free = static_cast<double>(available_disk(directory.path()));
  CHECK(free > 0);
  for (const char* path : {"new", "new/and/newer", "new/"})
    CHECK(static_cast<double>(available_disk(directory.path() / path)) == Approx(free).epsilon(0.1));
}

TEST_CASE("a stop in the middle of publishing is repaired") {
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

TEST_CASE("the id is that of the request alone and does not change between versions") {
  // hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()) in Python.
  CHECK(request().id() == "sha256:84e8b5bebf52979e8c1bacbcb6df528dda2da7c4f380b70003025f28c6c28ac3");
}
