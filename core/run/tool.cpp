#include "core/run/tool.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "core/error.hpp"
#include "core/hdf5/foreign.hpp"
#include "core/machine/host.hpp"
#include "core/machine/idle_threads.hpp"
#include "core/machine/memory.hpp"
#include "core/parallel/stop_signals.hpp"
#include "core/parallel/watchdog.hpp"
#include "core/printable.hpp"
#include "core/run/launch.hpp"
#include "core/run/usage.hpp"
#include "core/version.hpp"

namespace cosmo::core {

namespace {

/// Opens a placeholder for each of standard input, output and error that is closed. Otherwise a file opened
/// later would take its number and receive what is written there. Writing to such a standard output fails.
void hold_standard_files() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) == -1) (void)open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

const Command& find_command(const Tool& tool, std::vector<std::string>& words) {
  for (const Command& command : tool.commands) {
    if (!words.empty() && words.front() == command.name) {
      words.erase(words.begin());
      return command;
    }
  }
  if (tool.commands.front().name.empty()) return tool.commands.front();
  std::vector<std::string> names;
  for (const Command& command : tool.commands) names.push_back(command.name);
  ensure(!words.empty(), Fault::usage, "{} needs a command: {}; see --help.", tool.name,
         fmt::join(names, " or "));
  fail(Fault::usage, "Unknown command '{}': use {} {}.", words.front(), tool.name, fmt::join(names, " or "));
}

/// What the tool prints of itself for a word that is alone on the command line.
std::optional<std::string> tool_text(const Tool& tool, const std::string& word) {
  if (word == "--version") return version_text(tool);
  if (word == "--man") return manual_page(tool);
  if (word == "--completion") return completion_script(tool);
  if (word == "--help" && !tool.commands.front().name.empty()) return tool_help(tool);
  return std::nullopt;
}

/// The same for the options of a command.
std::optional<std::string> command_text(const Tool& tool, const Command& command, const Options& options) {
  if (options.flag("help")) return command_help(tool, command);
  for (const char* name : {"version", "man", "completion"}) {
    if (options.flag(name)) return tool_text(tool, fmt::format("--{}", name));
  }
  return std::nullopt;
}

/// The files to try; none if the options are invalid, which the command will report.
std::vector<std::filesystem::path> foreign_files(const Command& command, const Options& options) {
  try {
    return command.foreign(options);
  } catch (const Error&) {
    return {};
  }
}

/// Number of cores that this rank may use without taking them from other ranks on the same machine.
int available_cores(const Communicator& comm) {
  const Communicator node = comm.node();
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  std::vector<std::uint32_t> users(CPU_SETSIZE);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    users[static_cast<std::size_t>(core)] = CPU_ISSET(core, &mine) ? 1 : 0;
  node.sum(std::span<std::uint32_t>(users));
  const auto cores =
      static_cast<int>(std::count_if(users.begin(), users.end(), [](auto count) { return count > 0; }));
  return std::clamp(cores / node.size(), 1, std::max(1, CPU_COUNT(&mine)));
}

int set_threads(const Communicator& comm, const Log& log, const Options& options) {
  std::int64_t asked = 0;
  comm.agree([&] { asked = options.integer("threads", 0, 4096); });
  const int available = available_cores(comm);
  const int threads = asked == 0 ? available : static_cast<int>(asked);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  if (threads > CPU_COUNT(&mine)) {
    log.warn("{} threads share {} cores: give mpirun --bind-to none, or fewer --threads.", threads,
             CPU_COUNT(&mine));
  }
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  return threads;
}

Json run_facts(const Tool& tool, const Communicator& comm, int threads,
               const std::vector<std::string>& words) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<std::string> libraries = tool.libraries;
  libraries.insert(libraries.begin(), {mpi_version(), hdf5_version()});
  return {{"host", host_name()},
          {"started_unix_s", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
          {"ranks", comm.size()},
          {"threads", threads},
          {"command", words},
          {"build", build_flags()},
          {"libraries", libraries}};
}

void print_error(const Log& log, const Tool& tool, const Error& error) {
  constexpr std::size_t kMost = 2000;
  log.say(fmt::format("{}: {}{}", tool.name,
                      error.fault() == Fault::stopped ? "" : "error: ", printable(error.what(), kMost)));
}

/// Ends the process without clean-up. MPI_Finalize would start the clean-up of HDF5 1.10, which crashes if a
/// file could not be closed for lack of space.
[[noreturn]] void leave(const Communicator& comm, int exit_code) {
  std::fflush(nullptr);
  comm.barrier();
#ifdef MPICH_VERSION
  // When a rank ends without MPI_Finalize, MPICH's launcher kills the others and returns that signal as the exit code.
  if (comm.size() > 1) {
    if (comm.is_root()) MPI_Abort(comm.handle(), exit_code);
    sleep(5);  // until the launcher ends this rank
  }
#endif
  std::_Exit(exit_code);
}

/// Ends the run from another thread while the main thread waits for a lost rank: through MPI if that works,
/// and in any case a few seconds later.
[[noreturn]] void end_without(const Tool& tool, const std::string& loss, bool has_mpi) {
  constexpr int kCode = static_cast<int>(Fault::io);
  std::signal(SIGALRM, [](int) { std::_Exit(kCode); });
  alarm(5);
  print_error(Log(true, false), tool, Error(Fault::io, loss));
  if (has_mpi) MPI_Abort(MPI_COMM_WORLD, kCode);
  std::_Exit(kCode);
}

/// --peer-timeout [s]. Throws Error{config} if it is negative or absurd.
double peer_timeout(const Options& options) {
  const double minutes = options.number("peer-timeout");
  constexpr double kMost = 1e6;
  ensure(minutes >= 0 && minutes <= kMost, Fault::config,
         "Option --peer-timeout is {}: give 0 to {} minutes, where 0 waits for ever.", minutes, kMost);
  return 60 * minutes;
}

/// Runs the command; returns the exit code that the ranks agree on, or aborts.
int run_command(const Communicator& comm, const Log& log, const Tool& tool, const Command& command,
                const Options& options, const std::vector<std::string>& words, const Limits& limits) {
  const auto attempt = [&](const auto& part) {
    try {
      part();
      return 0;
    } catch (...) {
      const Error failure = current_error();
      const bool together = failure.agreed() || comm.size() == 1;
      if (comm.is_root() || !together) print_error(log, tool, failure);
      if (!together) MPI_Abort(comm.handle(), failure.exit_code());
      return failure.exit_code();
    }
  };
  for (const std::string& warning : options.warnings()) log.warn("{}", warning);
  std::string result;
  const int code = attempt([&] {
    const int threads = set_threads(comm, log, options);
    command.run(
        {tool.name, comm, log, options, threads, run_facts(tool, comm, threads, words), result, limits});
  });
  // Last, even after an error: where a launcher has read half a line of standard output, that of Open MPI 5 can write
  // it before what comes on standard error (OpenPMIx, issue 3858).
  const int printed = attempt([&] { log.result(result); });
  return code != 0 ? code : printed;
}

/// A whole run between MPI_Init and MPI_Finalize.
int run_command(const Tool& tool, const Command& command, const Options& options,
                const std::vector<std::string>& words, std::optional<Watchdog>& watchdog) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) watchdog.reset();
  if (watchdog) watchdog->begin(comm);
  const Log log(comm.is_root(), options.flag("quiet"));
  const int code = run_command(comm, log, tool, command, options, words, {});
  if (code == static_cast<int>(Fault::io)) leave(comm, code);
  return code;
}

}  // namespace

void Invocation::report(const Json& summary, const std::string& text) const {
  result = options.flag("json") ? summary.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : text;
}

int run_tool(int argc, char** argv, const Tool& tool) {
  hold_standard_files();
  give_back_large_blocks();
  remember_stop_signals();
  std::vector<std::string> words(argv + 1, argv + argc);
  std::ranges::replace(words, "-h", "--help");
  const std::vector<std::string> command_line(argv, argv + argc);
  try {
    const std::size_t process = process_number();
    const bool first = process == 0;
    const Log log(first, false);
    if (const auto text = words.size() == 1 ? tool_text(tool, words[0]) : std::nullopt) {
      log.result(*text);
      return 0;
    }
    const Command& command = find_command(tool, words);
    Options options = declare_options(command);
    options.parse(words);
    if (const auto text = command_text(tool, command, options)) {
      log.result(*text);
      return 0;
    }
    if (!stop_received()) limit_spinning(argv);
    if (command.on_stop == OnStop::end) obey_stop_signals();
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the size limit then fails like one to a full disk
    if (command.foreign != nullptr && first) try_in_child(foreign_files(command, options));
    std::optional<Watchdog> watchdog;  // also watches MPI_Init and MPI_Finalize
    if (const double timeout = peer_timeout(options); timeout > 0) {
      watchdog.emplace(timeout, process,
                       [&tool](const std::string& loss, bool has_mpi) { end_without(tool, loss, has_mpi); });
    }
    prepare_limits();
    prepare_single_process();
    MpiSession session(argc, argv);
    check_launch(Communicator::world().size());
    const int code = run_command(tool, command, options, command_line, watchdog);
    if (watchdog) watchdog->leave(code == 0);
    return code;
  } catch (...) {
    const Error error = current_error();
    if (process_number() == 0)
      print_error(Log(true, false), tool, error);
    else
      sleep(2);  // a launcher ends all when one fails: the first is to print before; a signal ends this wait
    return error.exit_code();
  }
}

Ended run_within(const Communicator& comm, const Tool& tool, std::vector<std::string> words,
                 const Limits& limits) {
  Ended ended{0, {}};
  const Log log(comm.is_root(), false, &ended.said);
  const std::vector<std::string> all = words;
  try {
    const Command& command = find_command(tool, words);
    Options options = declare_options(command);
    options.parse(words);
    ended.exit_code = run_command(comm, log, tool, command, options, all, limits);
  } catch (...) {  // an error in the options, which are the same on all ranks
    const Error error = current_error();
    if (comm.is_root()) print_error(log, tool, error);
    ended.exit_code = error.exit_code();
  }
  return ended;
}

}  // namespace cosmo::core
