#pragma once
// How the tensors of a sample are cut along their first axis into slabs, for the ranks that work on the sample.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/grid.hpp"
#include "nn/census.hpp"
#include "nn/network_spec.hpp"

namespace cosmo::core {
class Communicator;
}

namespace cosmo::nn {

/// What the ranks that share a sample have of a tensor, a slab each, and what they need of it for the next layer. Planes before the first
/// and behind the last one are padding.
struct Fetch {
  std::vector<core::Slab> owned, seen;  ///< by rank
  int depth;                            ///< planes of the tensor
  bool periodic;                        ///< whether planes outside are those of the opposite face, not zeros
  /// Whether each rank sees the whole tensor. All compute the same from it, so that each has the whole gradient of its
  /// own planes.
  bool whole;
};

/// Planes source to source + count - 1 of what rank `from` owns, and planes `target` and following of what rank `to`
/// sees, each counted from the first that the rank has.
struct Transfer {
  int from, to;
  int source, target, count;
};

/// All that the ranks see, except planes of zeros, also what they own; in the order of `to` and `target`.
std::vector<Transfer> transfers_of(const Fetch& fetch);

/// The cut of a network. Each layer that has planes for all ranks is computed in slabs, one on each rank: some planes of
/// the output from those of the input that they see, the padding included. From the first layer on that cannot be cut
/// (a dense one, or one whose output has fewer planes than there are ranks) every rank computes the whole, from the
/// same tensors and to the same values. A global mean of slabs is a sum over them. A field at the network's end stays cut.
/// Values depend on the number of ranks, but for rounding only.
class CutPlan {
 public:
  /// Throws Error{config} unless the first layer can be cut for this number of ranks.
  CutPlan(const NetworkSpec& spec, const NetworkCensus& census, Shape input, int ranks);

  int ranks() const { return ranks_; }
  /// What a rank has of a sample: all that the first layer needs, the padding included.
  core::Slab input(int rank) const { return seen(first_, rank); }
  /// The same of each rank.
  std::vector<core::Slab> inputs() const;
  /// Whether planes of the input outside of the sample are those of the opposite face, not zeros.
  bool periodic_input() const { return layers_[static_cast<std::size_t>(first_)].periodic; }
  /// Whether a layer is computed in slabs.
  bool is_cut(int layer) const { return layers_[static_cast<std::size_t>(layer)].is_cut; }
  /// Whether what a layer reads are slabs, and it fetches no whole tensor.
  bool reads_slab(int layer) const;
  /// Planes of a layer's output that a rank makes, and of its input that these see, those outside of a periodic input included.
  core::Slab made(int layer, int rank) const;
  core::Slab seen(int layer, int rank) const;
  /// What a rank has of the outputs: all, or planes of a field.
  core::Slab output(int rank) const { return made(static_cast<int>(layers_.size()) - 1, rank); }
  /// Whether the outputs are cut.
  bool cuts_output() const { return layers_.back().is_cut; }
  /// What the ranks fetch of an input of a layer before it is computed, if anything.
  std::optional<Fetch> fetch(int layer, std::size_t input) const;

  /// [bytes] What a rank receives of a sample in a step, forward and backward, for a layer.
  std::int64_t received(int layer, int rank) const;
  /// A table of the layers' planes by rank, the size of their values, and what is received; lines end in \n.
  std::string describe() const;
  /// The same as an array of objects.
  core::Json to_json() const;

 private:
  /// Planes of the input that a plane of a layer's output sees.
  struct Reach {
    bool known;  ///< whether the layer can be computed in slabs
    int window = 1, stride = 1, padding = 0;
    bool periodic = false;
    /// Whether the output has more planes than the input: those of a transposed convolution with this window, stride and padding.
    bool finer = false;
  };
  struct LayerCut {
    std::string name;
    std::vector<int> sources;
    LayerCensus census;
    bool mean;    ///< whether it is a global mean
    bool is_cut;  ///< whether it makes slabs
    bool periodic;
    Reach reach;
    std::vector<core::Slab> made = {};  ///< (ranks) planes of its output
    /// Whether these overlap: its only reader is spared a copy of all to fetch planes around its own, which are cheaper to make.
    bool overlaps = false;
  };
  /// A rank's part of a layer.
  struct Part {
    std::string layer;
    int planes;                ///< all planes of the output
    int least, most;           ///< planes that a rank makes
    bool of_sums;              ///< whether it makes a part of sums instead, and has the result
    std::int64_t value_bytes;  ///< the values that it makes of a sample, at most, in f32
    std::int64_t fetch_bytes;  ///< received() at most
  };
  std::vector<Part> parts() const;
  static Reach reach_of(const Layer& layer);
  void choose_planes(const NetworkSpec& spec);
  /// Whether a layer without weights may make the planes around its own, wherever they are.
  bool may_overlap(const Layer& layer, const LayerCut& cut) const;
  /// Whether a layer makes its planes from exactly those that its input's layer made.
  bool sees_own(int layer, int source) const;

  int ranks_;
  int input_;  ///< planes of the input
  int first_;  ///< the layer that reads the input
  std::vector<LayerCut> layers_;
};

/// A rank's share of the samples that its group works on. The plan and the group must outlive what is built with it.
struct Share {
  const CutPlan& plan;
  int rank;
  const core::Communicator* group = nullptr;  ///< not needed to plan memory
};

}  // namespace cosmo::nn
