#pragma once
// File-system operations that outputs need. Failures are Error{io} naming the path.

#include <cstdint>
#include <filesystem>
#include <string>

namespace cosmo::core {

/// Disk space available to this user at `path`, which need not exist yet [bytes]; the largest number if the
/// system does not report it.
std::uint64_t available_disk(std::filesystem::path path);

/// Whether this user may write the file or directory at `path`, or create it with its parent directories if
/// nothing is there.
bool may_write(std::filesystem::path path);

/// Throws if something else than a directory is where this directory or one above it is to be created: a file, or
/// a link that leads nowhere.
void ensure_place_for(const std::filesystem::path& directory);

/// Whether a name begins with a dot, as of files that other programs leave beside those of users.
bool is_hidden(const std::filesystem::path& path);

/// Creates a directory and its missing parents.
void make_directory(const std::filesystem::path& path);

/// Removes a file if it exists.
void remove_file(const std::filesystem::path& path);

/// Removes an unfinished file and those that MPI-IO keeps beside it, whose names begin with its name.
void remove_leftovers(const std::filesystem::path& part);

/// Flushes the bytes of a file, or the entries of a directory, so that they survive a crash.
void sync(const std::filesystem::path& path);

/// Flushes all that was written to the file system of `path`.
void sync_file_system(const std::filesystem::path& path);

/// Gives a file its final name, replacing any file of that name, such that it survives a crash whole.
void publish_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Appends lines to a file and syncs it; an incomplete last line does not become part of them.
void append_lines(const std::filesystem::path& path, const std::string& lines);

}  // namespace cosmo::core
