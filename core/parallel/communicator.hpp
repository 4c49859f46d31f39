#pragma once
// The only interface between the toolkit and MPI.

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace cosmo::core {

/// Initialises MPI on construction and finalises it on destruction; one per process. Several threads may call
/// MPI, each with its own communicator.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

/// A barrier of a communicator that this rank has reached.
class Arrival {
 public:
  /// Whether all ranks have reached it. The barrier makes progress only in this call. Not collective.
  bool complete();

 private:
  friend class Communicator;
  explicit Arrival(MPI_Request request) : request_(request) {}
  MPI_Request request_;
};

class Communicator;

/// Messages between two ranks of a communicator each that are on their way. Those between the same ranks arrive in the
/// order in which they were sent.
class Messages {
 public:
  /// Begins to send or receive; the values belong to MPI until wait(). Not collective.
  template <class T>
  void send(const Communicator& comm, std::span<const T> values, int to) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(comm, values.data(), values.size_bytes(), to);
  }
  template <class T>
  void receive(const Communicator& comm, std::span<T> values, int from) {
    static_assert(std::is_trivially_copyable_v<T>);
    receive_bytes(comm, values.data(), values.size_bytes(), from);
  }
  /// Waits until all have been sent and received.
  void wait();

 private:
  void send_bytes(const Communicator& comm, const void* values, std::size_t bytes, int to);
  void receive_bytes(const Communicator& comm, void* values, std::size_t bytes, int from);

  std::vector<MPI_Request> requests_;
};

/// A group of ranks. Every member except rank() and size() is collective over the group. Must be used within
/// the lifetime of an MpiSession. Failures of MPI itself are Error{io}.
class Communicator {
 public:
  /// All ranks of the run.
  static Communicator world();
  /// This rank alone. Not collective.
  static Communicator self();
  /// The ranks that share memory with this one.
  Communicator node() const;
  /// The ranks that pass the same `part`, in the same order as here.
  Communicator split(int part) const;
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&&) = delete;
  ~Communicator();
  /// Leaves the communicator to MPI until the end of the run: freeing it is collective, and not allowed while
  /// this rank's arrival waits for ranks that may never come. Not collective.
  void abandon() { owned_ = false; }

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  /// For core only: parallel HDF5 and messages.
  MPI_Comm handle() const { return comm_; }

  void barrier() const;
  /// Reports that this rank has reached a barrier, without waiting for the others.
  Arrival arrive() const;

  /// Gives every rank root's values.
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(values.data(), values.size_bytes(), root);
  }
  /// Returns root's text on every rank.
  std::string broadcast(std::string text, int root = 0) const;

  /// Sums element by element, in place, on every rank; every rank gets the same bits.
  template <class T>
  void sum(std::span<T> values) const {
    all_reduce(values.data(), values.size(), type_of<T>(), MPI_SUM);
  }
  template <class T>
  T sum(T value) const {
    all_reduce(&value, 1, type_of<T>(), MPI_SUM);
    return value;
  }
  template <class T>
  T max(T value) const {
    all_reduce(&value, 1, type_of<T>(), MPI_MAX);
    return value;
  }
  template <class T>
  T min(T value) const {
    all_reduce(&value, 1, type_of<T>(), MPI_MIN);
    return value;
  }

  /// Every rank's text, in rank order, on every rank.
  std::vector<std::string> gather(const std::string& text) const;

  /// Gives every rank all ranks' values, the same number from each, in rank order: `all` is size() times as
  /// long as `own`.
  template <class T>
  void all_gather(std::span<const T> own, std::span<T> all) const {
    static_assert(std::is_trivially_copyable_v<T>);
    all_gather_bytes(own.data(), own.size_bytes(), all.data());
  }

  /// Sends send_counts[r] values, consecutive in `send`, to each rank r, and receives recv_counts[r] from it,
  /// consecutive in `recv`. Counts are in groups of `width` elements of T.
  template <class T>
  void all_to_all(const T* send, std::span<const int> send_counts, T* recv, std::span<const int> recv_counts,
                  std::size_t width = 1) const {
    static_assert(std::is_trivially_copyable_v<T>);
    all_to_all_bytes(send, send_counts, recv, recv_counts, width * sizeof(T));
  }
  /// The number of values that each rank will send here, given the numbers that this rank sends to each.
  std::vector<int> exchange_counts(std::span<const int> send_counts) const;

  /// Runs `step`, which must not communicate over this communicator, on every rank. If it throws on any rank,
  /// every rank throws the Error of the lowest failing rank, marked agreed(), so that a failure on one rank
  /// stops all of them.
  void agree(const std::function<void()>& step) const;

 private:
  explicit Communicator(MPI_Comm comm, bool owned);

  template <class T>
  static MPI_Datatype type_of() {
    if constexpr (std::is_same_v<T, float>)
      return MPI_FLOAT;
    else if constexpr (std::is_same_v<T, double>)
      return MPI_DOUBLE;
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return MPI_INT32_T;
    else if constexpr (std::is_same_v<T, std::uint32_t>)
      return MPI_UINT32_T;
    else if constexpr (std::is_same_v<T, std::int64_t>)
      return MPI_INT64_T;
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      return MPI_UINT64_T;
    else
      static_assert(!sizeof(T), "no MPI type for T");
  }
  void broadcast_bytes(void* data, std::size_t bytes, int root) const;
  void all_reduce(void* data, std::size_t count, MPI_Datatype type, MPI_Op operation) const;
  void all_gather_bytes(const void* own, std::size_t bytes, void* all) const;
  void all_to_all_bytes(const void* send, std::span<const int> send_counts, void* recv,
                        std::span<const int> recv_counts, std::size_t element_bytes) const;

  MPI_Comm comm_;
  bool owned_;
  int rank_;
  int size_;
};

}  // namespace cosmo::core
