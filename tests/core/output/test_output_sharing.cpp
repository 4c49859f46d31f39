#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <fstream>

#include "core/output/output_directory.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/shared_output.hpp"

using namespace cosmo::core;
namespace fs = std::filesystem;

TEST_CASE("a group can write a lock if the umask lets it") {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(0002);
  const FileLock lock(directory.path() / ".lock", ByteRange{5, 1});
  ::umask(before);
  const auto permissions = fs::status(directory.path() / ".lock").permissions();
  CHECK((permissions & fs::perms::group_write) != fs::perms::none);
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

TEST_CASE("a directory with foreign files is not touched, and one in use is not shared") {
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

TEST_CASE("disjoint slices share a directory, and the one that finds all files there finishes it") {
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
