#include <catch2/catch.hpp>

#include "core/file/checksum.hpp"
#include "core/file/input_file.hpp"
#include "core/file/text_file.hpp"
#include "core/output/manifest.hpp"
#include "core/output/watched_files.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/shared_output.hpp"

using namespace cosmo::core;

TEST_CASE("a file that another rank noted, and that is replaced or written to, is refused on all ranks") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  const auto kept = shared.path / "kept", replaced = shared.path / "replaced", gone = shared.path / "gone";
  WatchedFiles watched;
  if (comm.is_root()) {
    std::filesystem::create_directory(shared.path);
    for (const auto& path : {kept, replaced, gone}) {
      write_text(path, "before");
      watched.note(path);
    }
  }
  watched.share(comm);
  comm.agree([&] { watched.ensure_unchanged(); });
  if (comm.is_root()) {
    write_text(shared.path / "new", "before");  // the same content
    std::filesystem::rename(shared.path / "new", replaced);
    std::filesystem::remove(gone);
  }
  comm.barrier();
  watched.ensure_unchanged(kept);
  watched.ensure_unchanged(shared.path / "not noted");
  expect_error(Fault::format, "replaced was changed or replaced while it was read",
               [&] { watched.ensure_unchanged(replaced); });
  expect_error(Fault::format, "gone was changed or replaced", [&] { watched.ensure_unchanged(); });
  comm.barrier();
}

TEST_CASE("a checked file that changes while it is read is refused, whatever was read") {
  const Communicator comm = Communicator::world();
  const SharedDirectory shared(comm);
  if (!comm.is_root()) return;
  std::filesystem::create_directory(shared.path);
  const auto path = shared.path / "a.txt";
  write_text(path, "abc");
  const FileRecord record{"a.txt", 3, sha256_of_file(path)};
  const auto read = [](const auto& file) { return read_text(file, 10); };
  CHECK(read_checked(shared.path, record, read) == "abc");
  expect_error(Fault::format, "a.txt was changed or replaced while it was read", [&] {
    (void)read_checked(shared.path, record, [&](const auto& file) {
      write_text(file, "abcd");
      return read(file);
    });
  });
  expect_error(Fault::format, "a.txt", [&] { read_checked(shared.path, record, read); });
}
