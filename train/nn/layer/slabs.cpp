// What a rank does at the border of a slab.

#include "core/parallel/communicator.hpp"
#include "core/timer.hpp"
#include "train/nn/cut/plane_exchange.hpp"
#include "train/nn/layer/walked_layout.hpp"

namespace cosmo::nn {

namespace {

PlaneExchange exchange_of(const NetworkBuilder& builder, const Fetch& fetch, const WalkedLayout& walked) {
  return {fetch, builder.share->rank, walked.images(), walked.side() * walked.side() * walked.block.channels};
}

/// An operation that communicates within the group; its time counts as exchanging.
Operation exchanging(NetworkBuilder& builder, const char* name,
                     std::function<void(const core::Communicator&)> work) {
  return {OperationKind::other, name,
          [&builder, group = builder.share->group, work = std::move(work)](const Pass&) {
            const core::Timer timer;
            work(*group);
            builder.exchanging += timer.seconds();
          }};
}

template <class T>
std::function<void(const core::Communicator&)> fetching(const PlaneExchange& exchange,
                                                        const dnnl::memory& own, const dnnl::memory& seen,
                                                        const dnnl::memory& scratch) {
  return [=](const core::Communicator& group) {
    exchange.fetch(group, data<T>(own), data<T>(seen), data<T>(scratch));
  };
}

template <class T>
std::function<void(const core::Communicator&)> giving_back(const PlaneExchange& exchange,
                                                           const dnnl::memory& d_seen,
                                                           const dnnl::memory& d_own,
                                                           const dnnl::memory& scratch) {
  return [=](const core::Communicator& group) {
    exchange.give_back(group, data<T>(d_seen), data<T>(d_own), data<T>(scratch));
  };
}

}  // namespace

Tensor append_fetch(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& source,
                    const Fetch& fetch) {
  const WalkedLayout walked(source.values.get_desc());
  const dnnl::memory own = builder.reordered(operations, source.values, walked.layout(), false);
  const PlaneExchange exchange = exchange_of(builder, fetch, walked);
  const int planes = fetch.seen[static_cast<std::size_t>(builder.share->rank)].size();
  const dnnl::memory::desc layout = walked.layout(planes, walked.side());
  const auto place = [&](int slot) {
    return slot < 0 ? dnnl::memory() : builder.memory.place(slot, layout, builder.engine);
  };
  const Tensor seen =
      source.room
          ? Tensor{place(source.room->values), place(source.room->gradient), 1, false, false, source.lane}
          : builder.inner_tensor(layout);
  const dnnl::memory scratch = builder.temporary(plain_layout({exchange.scratch()}));
  operations.push_back(exchanging(
      builder, "fetch planes",
      (is_bf16(own) ? fetching<core::Bfloat16> : fetching<float>)(exchange, own, seen.values, scratch)));
  return seen;
}

void append_give_back(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& seen,
                      const Tensor& source, const Fetch& fetch) {
  const WalkedLayout walked(source.gradient.get_desc());
  const bool in_place = walked.layout() == source.gradient.get_desc();
  const dnnl::memory d_own =
      in_place ? source.gradient
               : builder.memory.place(builder.memory.slot(), walked.layout(), builder.engine);
  const PlaneExchange exchange = exchange_of(builder, fetch, walked);
  const dnnl::memory scratch = builder.temporary(plain_layout({exchange.scratch()}));
  operations.push_back(
      exchanging(builder, "give back gradients",
                 (is_bf16(d_own) ? giving_back<core::Bfloat16> : giving_back<float>)(exchange, seen.gradient,
                                                                                     d_own, scratch)));
  if (!in_place) builder.append_reorder(operations, d_own, source.gradient);
  append_leaky_relu_backward(builder, operations, source);
}

void append_group_sum(NetworkBuilder& builder, std::vector<Operation>& operations,
                      const dnnl::memory& values) {
  operations.push_back(exchanging(builder, "sum over ranks", [=](const core::Communicator& group) {
    group.sum(values_of<float>(values));
  }));
}

}  // namespace cosmo::nn
