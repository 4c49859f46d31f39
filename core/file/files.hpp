#pragma once
// What outputs ask of a file system. Failures are Error{io} that name the path.

#include <cstdint>
#include <filesystem>
#include <string>

namespace cosmo::core {

/// What this user may still write at `path`, which need not exist yet [bytes]; the largest number if the
/// system does not tell.
std::uint64_t available_disk(std::filesystem::path path);

/// Whether this user may write the file or directory at `path`, or create it, with the directories above it,
/// where nothing is.
bool may_write(std::filesystem::path path);

/// Creates a directory and those above it, where they are missing.
void make_directory(const std::filesystem::path& path);

/// Removes a file, if it is there.
void remove_file(const std::filesystem::path& path);

/// Removes what is left of a file in the making; MPI-IO keeps others beside it, whose names go on.
void remove_leftovers(const std::filesystem::path& part);

/// Makes the bytes of a file, or the entries of a directory, survive a crash.
void sync(const std::filesystem::path& path);

/// Gives a file its final name, in place of what has it, such that it survives a crash whole.
void publish_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Adds lines to a file and syncs it; whatever somebody left of a line there does not become part of them.
void append_lines(const std::filesystem::path& path, const std::string& lines);

}  // namespace cosmo::core
