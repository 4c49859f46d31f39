// A library to preload: it fills the disk or kills the process at a chosen file operation.
//
// clang-format off
//   COSMO_DISK_BYTES=N  writing fails with ENOSPC once N bytes are written to files whose path ends in
//   COSMO_DISK_SUFFIX   (".h5.part" if unset)
//   COSMO_KILL_AT=N     SIGKILL at the Nth operation that changes something below
//   COSMO_KILL_UNDER    this directory; a write is done by half before; 0: never; "stdout": at its flushes
//   COSMO_KILL_SIGNAL   another signal, as a number: 19 stops the process until it is continued
//   COSMO_PAUSE         sleeps for this number of seconds instead
//   COSMO_FAIL          it fails with this errno instead, as a number; "short": it does half of the work
//   COSMO_READS         reads below COSMO_KILL_UNDER count instead of changes
//   COSMO_FAULT_RANK    only in this rank of an mpirun
//   COSMO_INIT          a signal's number, sent to the process as it enters MPI_Init_thread
//   COSMO_FINALIZE      the same for MPI_Finalize
//   COSMO_KILL_COUNT    file that the number of these operations is written to at the end
//   COSMO_KILL_PATH     file that the process and the path of the Nth one are written to
// clang-format on

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

long number(const char* name) { return std::strtol(setting(name, "-1").c_str(), nullptr, 10); }

bool is_chosen_rank() {
  const std::string rank = setting("OMPI_COMM_WORLD_RANK", setting("PMI_RANK", "").c_str());
  return setting("COSMO_FAULT_RANK", rank.c_str()) == rank;
}

std::string path_of(int file) {
  char path[4096];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  return {path, static_cast<std::size_t>(length > 0 ? length : 0)};
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Counts one operation and returns whether the process is to die in it.
bool is_last(std::string_view path);

/// Counts down the operations below COSMO_KILL_UNDER.
struct Counter {
  const std::string under = is_chosen_rank() ? setting("COSMO_KILL_UNDER", "//") : "//";
  const long kill_at = number("COSMO_KILL_AT");
  const std::string report = setting("COSMO_KILL_COUNT", "");
  std::atomic<long> count = 0;

  ~Counter() {
    if (report.empty() || count == 0) return;  // children of MPI inherit the library
    std::FILE* file = std::fopen(report.c_str(), "w");
    std::fprintf(file, "%ld\n", count.load());
    std::fclose(file);
  }
};

Counter& counter() {
  static Counter instance;
  return instance;
}

bool is_last(std::string_view path) {
  Counter& here = counter();
  if (!path.starts_with(here.under) || ++here.count != here.kill_at) return false;
  if (const std::string report = setting("COSMO_KILL_PATH", ""); !report.empty()) {
    std::FILE* file = std::fopen(report.c_str(), "w");
    std::fprintf(file, "%d %.*s", getpid(), static_cast<int>(path.size()), path.data());
    std::fclose(file);
  }
  return true;
}

bool counts_reads() {
  static const bool reads = number("COSMO_READS") >= 0;
  return reads;
}

bool is_last_change(std::string_view path) { return !counts_reads() && is_last(path); }

/// What COSMO_FAIL makes of the operation.
enum class Failure { none, shortened, error };

/// Whether nothing comes after die().
bool kills() {
  const long signal = number("COSMO_KILL_SIGNAL");
  return number("COSMO_PAUSE") < 0 && (signal < 0 || signal == SIGKILL);
}

/// Sets errno for an error.
Failure failure() {
  static const std::string kind = setting("COSMO_FAIL", "");
  if (kind.empty()) return Failure::none;
  if (kind == "short") return Failure::shortened;
  errno = static_cast<int>(number("COSMO_FAIL"));
  return Failure::error;
}

void die() {
  if (const long seconds = number("COSMO_PAUSE"); seconds >= 0) {
    sleep(static_cast<unsigned>(seconds));
    return;
  }
  const long signal = number("COSMO_KILL_SIGNAL");
  kill(getpid(), signal < 0 ? SIGKILL : static_cast<int>(signal));
}

/// Whether `size` more bytes fit on the disk; sets errno if not.
bool fits(std::string_view path, std::size_t size) {
  static long left = number("COSMO_DISK_BYTES");
  static const std::string suffix = setting("COSMO_DISK_SUFFIX", ".h5.part");
  if (left < 0 || !path.ends_with(suffix)) return true;
  const bool room = static_cast<long>(size) <= left;
  left = room ? left - static_cast<long>(size) : 0;
  if (!room) errno = ENOSPC;
  return room;
}

/// Does the operation that is to go wrong, which `act(size)` would do well.
template <class Act>
ssize_t spoil(std::size_t size, const Act& act) {
  switch (failure()) {
    case Failure::error:
      return -1;
    case Failure::shortened:
      return act((size + 1) / 2);
    case Failure::none:
      if (kills()) act(size / 2);
      die();
  }
  return act(size);
}

/// Passes a write on through `act(size)`, unless the disk is full or the time has come.
template <class Act>
ssize_t write_through(int file, std::size_t size, const Act& act) {
  const std::string path = path_of(file);
  if (!fits(path, size)) return -1;
  return is_last_change(path) ? spoil(size, act) : act(size);
}

template <class Act>
ssize_t read_through(int file, std::size_t size, const Act& act) {
  return counts_reads() && is_last(path_of(file)) ? spoil(size, act) : act(size);
}

ssize_t write_vector(int file, const iovec* parts, int count, off_t offset, bool at_offset) {
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  return write_through(file, size, [&](std::size_t allowed) {
    const int whole = allowed < size ? count / 2 : count;
    return at_offset ? next<decltype(pwritev)>("pwritev")(file, parts, whole, offset)
                     : next<decltype(writev)>("writev")(file, parts, whole);
  });
}

/// What a failed call returns.
template <class Act>
auto failed(const Act& act) {
  using Result = decltype(act());
  if constexpr (std::is_pointer_v<Result>)
    return Result(nullptr);
  else
    return Result(-1);
}

template <class Act>
auto change(std::string_view path, const Act& act) {
  if (is_last_change(path)) {
    switch (failure()) {
      case Failure::error:
        return failed(act);
      case Failure::shortened:
        return act();  // there is no half of it
      case Failure::none:
        die();
    }
  }
  return act();
}

/// Sends this process the signal that a setting names.
void signal_at(const char* name) {
  if (const long signal = number(name); signal >= 0 && is_chosen_rank())
    kill(getpid(), static_cast<int>(signal));
}

}  // namespace

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  signal_at("COSMO_INIT");
  return next<int(int*, char***, int, int*)>("MPI_Init_thread")(argc, argv, required, provided);
}

int MPI_Finalize() {
  signal_at("COSMO_FINALIZE");
  return next<int()>("MPI_Finalize")();
}

ssize_t write(int file, const void* data, std::size_t size) {
  return write_through(file, size,
                       [&](std::size_t n) { return next<decltype(write)>("write")(file, data, n); });
}
ssize_t pwrite(int file, const void* data, std::size_t size, off_t offset) {
  return write_through(
      file, size, [&](std::size_t n) { return next<decltype(pwrite)>("pwrite")(file, data, n, offset); });
}
ssize_t pwrite64(int file, const void* data, std::size_t size, off_t offset) {
  return pwrite(file, data, size, offset);
}
ssize_t writev(int file, const iovec* parts, int count) { return write_vector(file, parts, count, 0, false); }
ssize_t pwritev(int file, const iovec* parts, int count, off_t offset) {
  return write_vector(file, parts, count, offset, true);
}
ssize_t pwritev64(int file, const iovec* parts, int count, off_t offset) {
  return write_vector(file, parts, count, offset, true);
}

ssize_t read(int file, void* data, std::size_t size) {
  return read_through(file, size, [&](std::size_t n) { return next<decltype(read)>("read")(file, data, n); });
}
ssize_t pread(int file, void* data, std::size_t size, off_t offset) {
  return read_through(file, size,
                      [&](std::size_t n) { return next<decltype(pread)>("pread")(file, data, n, offset); });
}
ssize_t pread64(int file, void* data, std::size_t size, off_t offset) {
  return pread(file, data, size, offset);
}

int fsync(int file) {
  return change(path_of(file), [&] { return next<decltype(fsync)>("fsync")(file); });
}
int ftruncate(int file, off_t size) noexcept {
  return change(path_of(file), [&] { return next<decltype(ftruncate)>("ftruncate")(file, size); });
}
int ftruncate64(int file, off_t size) noexcept { return ftruncate(file, size); }
int rename(const char* from, const char* to) noexcept {
  return change(to, [&] { return next<decltype(rename)>("rename")(from, to); });
}
int remove(const char* path) noexcept {
  return change(path, [&] { return next<decltype(remove)>("remove")(path); });
}
int unlink(const char* path) noexcept {
  return change(path, [&] { return next<decltype(unlink)>("unlink")(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return change(path, [&] { return next<int(const char*, mode_t)>("mkdir")(path, mode); });
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = static_cast<mode_t>((flags & O_CREAT) != 0 ? va_arg(rest, int) : 0);
  va_end(rest);
  const auto act = [&] { return next<int(const char*, int, ...)>("open")(path, flags, mode); };
  return (flags & (O_CREAT | O_TRUNC)) != 0 ? change(path, act) : act();
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = static_cast<mode_t>((flags & O_CREAT) != 0 ? va_arg(rest, int) : 0);
  va_end(rest);
  return open(path, flags, mode);
}
std::FILE* fopen(const char* path, const char* mode) {
  const auto act = [&] { return next<decltype(fopen)>("fopen")(path, mode); };
  return *mode == 'r' ? act() : change(path, act);
}
int fflush(std::FILE* file) {
  const auto act = [&] { return next<decltype(fflush)>("fflush")(file); };
  return file == stdout ? change("stdout", act) : act();
}
std::FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

}  // extern "C"
