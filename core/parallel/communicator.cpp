#include "core/parallel/communicator.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(Fault::io, "{} failed ({}): check that the hosts reach each other.", call,
       std::string(text, static_cast<std::size_t>(length)));
}

std::vector<int> displacements(std::span<const int> counts) {
  std::vector<int> result(counts.size(), 0);
  for (std::size_t r = 1; r < counts.size(); ++r) result[r] = result[r - 1] + counts[r - 1];
  return result;
}

/// A committed contiguous datatype of `bytes` bytes, freed with the object.
struct ElementType {
  explicit ElementType(std::size_t bytes) {
    check(MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type), "MPI_Type_contiguous");
    check(MPI_Type_commit(&type), "MPI_Type_commit");
  }
  ~ElementType() { MPI_Type_free(&type); }
  ElementType(const ElementType&) = delete;
  ElementType& operator=(const ElementType&) = delete;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// The largest piece given to one MPI call, whose counts are int.
constexpr std::size_t kMaxCount = std::size_t{1} << 30;

/// Calls piece(first byte, number of bytes) for pieces of that size at most.
template <class Piece>
void for_pieces(std::size_t bytes, const Piece& piece) {
  for (std::size_t done = 0; done < bytes; done += kMaxCount)
    piece(done, static_cast<int>(std::min(kMaxCount, bytes - done)));
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = 0;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  ensure(
      provided >= MPI_THREAD_MULTIPLE, Fault::internal,
      "This MPI library does not let several threads communicate (MPI_THREAD_MULTIPLE): use one that does.");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

Communicator::Communicator(MPI_Comm comm, bool owned) : comm_(comm), owned_(owned), rank_(0), size_(1) {
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Communicator Communicator::world() { return Communicator(MPI_COMM_WORLD, false); }
Communicator Communicator::self() { return Communicator(MPI_COMM_SELF, false); }

Communicator Communicator::node() const {
  MPI_Comm shared = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &shared),
        "MPI_Comm_split_type");
  return Communicator(shared, true);
}

Communicator Communicator::split(int part) const {
  MPI_Comm own = MPI_COMM_NULL;
  check(MPI_Comm_split(comm_, part, rank_, &own), "MPI_Comm_split");
  return Communicator(own, true);
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(other.comm_), owned_(other.owned_), rank_(other.rank_), size_(other.size_) {
  other.owned_ = false;
}

Communicator::~Communicator() {
  if (owned_) MPI_Comm_free(&comm_);
}

void Communicator::barrier() const { check(MPI_Barrier(comm_), "MPI_Barrier"); }

Arrival Communicator::arrive() const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  return Arrival(request);
}

bool Arrival::complete() {
  int done = 0;
  check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

namespace {

constexpr int kTag = 0;  ///< that all messages have

}  // namespace

void Messages::send_bytes(const Communicator& comm, const void* values, std::size_t bytes, int to) {
  for_pieces(bytes, [&](std::size_t first, int count) {
    check(MPI_Isend(static_cast<const char*>(values) + first, count, MPI_BYTE, to, kTag, comm.handle(),
                    &requests_.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend");
  });
}

void Messages::receive_bytes(const Communicator& comm, void* values, std::size_t bytes, int from) {
  for_pieces(bytes, [&](std::size_t first, int count) {
    check(MPI_Irecv(static_cast<char*>(values) + first, count, MPI_BYTE, from, kTag, comm.handle(),
                    &requests_.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Irecv");
  });
}

void Messages::wait() {
  check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
  requests_.clear();
}

std::string Communicator::broadcast(std::string text, int root) const {
  std::uint64_t length = text.size();
  broadcast(std::span(&length, 1), root);
  text.resize(length);
  broadcast_bytes(text.data(), length, root);
  return text;
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
  const auto length = static_cast<int>(text.size());
  std::vector<int> lengths(static_cast<std::size_t>(size_));
  check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_), "MPI_Allgather");
  const std::vector<int> starts = displacements(lengths);
  std::string joined(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
  check(MPI_Allgatherv(text.data(), length, MPI_CHAR, joined.data(), lengths.data(), starts.data(), MPI_CHAR,
                       comm_),
        "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    texts.push_back(joined.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r])));
  }
  return texts;
}

std::vector<int> Communicator::exchange_counts(std::span<const int> send_counts) const {
  std::vector<int> recv_counts(send_counts.size());
  check(MPI_Alltoall(send_counts.data(), 1, MPI_INT, recv_counts.data(), 1, MPI_INT, comm_), "MPI_Alltoall");
  return recv_counts;
}

void Communicator::agree(const std::function<void()>& step) const {
  int code = 0;
  std::string sentence;
  try {
    step();
  } catch (...) {
    const Error error = current_error();
    code = error.exit_code();
    sentence = error.what();
  }
  int first = code == 0 ? size_ : rank_;
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce");
  if (first == size_) return;
  broadcast(std::span(&code, 1), first);
  sentence = broadcast(std::move(sentence), first);
  throw Error(static_cast<Fault>(code), sentence, true);
}

void Communicator::broadcast_bytes(void* data, std::size_t bytes, int root) const {
  for_pieces(bytes, [&](std::size_t first, int count) {
    check(MPI_Bcast(static_cast<char*>(data) + first, count, MPI_BYTE, root, comm_), "MPI_Bcast");
  });
}

void Communicator::all_reduce(void* data, std::size_t count, MPI_Datatype type, MPI_Op operation) const {
  ensure(count <= kMaxCount, Fault::internal, "A reduction of {} values exceeds MPI's limit.", count);
  check(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), type, operation, comm_), "MPI_Allreduce");
}

void Communicator::all_gather_bytes(const void* own, std::size_t bytes, void* all) const {
  ensure(bytes <= kMaxCount, Fault::internal, "{} bytes per rank exceed MPI's limit.", bytes);
  const auto count = static_cast<int>(bytes);
  check(MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, comm_), "MPI_Allgather");
}

void Communicator::all_to_all_bytes(const void* send, std::span<const int> send_counts, void* recv,
                                    std::span<const int> recv_counts, std::size_t element_bytes) const {
  const ElementType element(element_bytes);
  check(MPI_Alltoallv(send, send_counts.data(), displacements(send_counts).data(), element.type, recv,
                      recv_counts.data(), displacements(recv_counts).data(), element.type, comm_),
        "MPI_Alltoallv");
}

}  // namespace cosmo::core
