#include "core/hdf5/foreign.hpp"

#include <hdf5.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include "core/error.hpp"
#include "core/hdf5/diagnosis.hpp"
#include "core/hdf5/hdf5.hpp"

namespace cosmo::core {

namespace fs = std::filesystem;

namespace {

using hdf5::Handle;

constexpr unsigned kSeconds = 60;
constexpr rlim_t kMemory = rlim_t{2} << 30;

/// Reads an attribute of numbers. Texts are read without HDF5 (core/hdf5/text.hpp).
herr_t try_attribute(hid_t object, const char* name, const H5A_info_t*, void*) {
  constexpr hssize_t kMost = 1 << 20;
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (attribute.get() < 0) return 0;
  const Handle type(H5Aget_type(attribute.get()), H5Tclose), space(H5Aget_space(attribute.get()), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || points <= 0 || points > kMost) return 0;
  static std::array<double, kMost> values;
  H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, values.data());
  return 0;
}

/// Opens an object with its attributes, and a dataset's type, shape and storage layout.
herr_t try_object(hid_t file, const char* name, const H5O_info_t* info, void*) {
  const Handle object(H5Oopen(file, name, H5P_DEFAULT), H5Oclose);
  if (object.get() < 0) return 0;
  hsize_t first = 0;
  H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &first, &try_attribute, nullptr);
  if (info->type != H5O_TYPE_DATASET) return 0;
  const Handle type(H5Dget_type(object.get()), H5Tclose), space(H5Dget_space(object.get()), H5Sclose),
      creation(H5Dget_create_plist(object.get()), H5Pclose);
  hsize_t chunks = 0;
  if (H5Pget_layout(creation.get()) == H5D_CHUNKED) H5Dget_num_chunks(object.get(), space.get(), &chunks);
  return 0;
}

void try_file(const fs::path& path) {
  if (H5Fis_hdf5(path.c_str()) <= 0) return;
  const Handle access(hdf5::access_properties(), H5Pclose);
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (file.get() >= 0) H5Ovisit(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &try_object, nullptr);
}

/// The child's work. `at` is the index of the file that it is trying.
[[noreturn]] void try_all(std::span<const fs::path> files, std::atomic<std::size_t>& at) {
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) std::signal(signal, SIG_IGN);  // left to the parent
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef COSMO_SANITIZED  // sanitizers reserve terabytes of address space
  const rlimit memory = {kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  for (; at < files.size(); ++at) {
    alarm(kSeconds);
    try {
      try_file(files[at]);
    } catch (const std::exception&) {  // the command will report it
    }
  }
  _exit(0);
}

}  // namespace

std::vector<fs::path> hdf5_files_at(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  std::vector<fs::path> files;
  if (!fs::is_directory(path, error)) return files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const fs::path extension = entry.path().extension();
    if (entry.is_regular_file(error) && (extension == ".h5" || extension == ".hdf5"))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void try_in_child(std::span<const fs::path> files) {
  if (files.empty()) return;
  void* shared = mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ensure(shared != MAP_FAILED, Fault::io, "No memory can be shared with a child process ({}).",
         std::strerror(errno));
  auto& at = *new (shared) std::atomic<std::size_t>(0);
  const pid_t child = fork();
  ensure(child >= 0, Fault::io, "No child process can be started ({}): raise the limit of processes.",
         std::strerror(errno));
  if (child == 0) try_all(files, at);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::size_t reached = at;
  munmap(shared, sizeof(std::atomic<std::size_t>));
  if (status == 0 || reached >= files.size()) return;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ensure(signal != SIGKILL, Fault::io,
         "The process that opens {} first was killed: memory may have run out, use a node that has more.",
         files[reached].string());
  fail(Fault::format, "{} makes the HDF5 library fail ({}): it is damaged, restore it.",
       files[reached].string(),
       signal == SIGALRM ? fmt::format("it does not end in {} s", kSeconds)
       : signal == 0     ? fmt::format("exit code {}", WEXITSTATUS(status))  // set by a sanitizer
                         : std::string(strsignal(signal)));
}

}  // namespace cosmo::core
