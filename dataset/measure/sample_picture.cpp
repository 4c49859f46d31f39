#include "dataset/measure/sample_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/picture/png.hpp"
#include "core/picture/svg_plot.hpp"
#include "dataset/exchange/exchange_format.hpp"
#include "dataset/measure/slice.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset {

namespace svg = core::svg;

namespace {

constexpr double kMargin = 24, kGap = 24, kLine = 18;     ///< [px]
constexpr double kPanel = 360;                            ///< side of a slice [px]
constexpr double kBar = 14;                               ///< height of the bar of colours [px]
constexpr double kAxis = 76, kPlot = 340, kLegend = 290;  ///< the distribution's labels, height, legend [px]
constexpr int kMostChannels = 4;                          ///< rows of slices
/// Colours that the colour-blind can distinguish too. Source: Okabe and Ito 2008.
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#e69f00", "#56b4e9"};

std::size_t channel_size(const SampleSpec& spec) {
  return spec.input.voxels() / static_cast<std::size_t>(spec.input.channels());
}

/// Slices (sample, channel) of the first channels, in units of the mean if the voxels are counts.
std::vector<Slice> slices_of(const SampleSpec& spec, const std::vector<ChosenSample>& chosen, int channels,
                             int depth) {
  const std::size_t size = channel_size(spec);
  std::vector<Slice> slices;
  for (const ChosenSample& sample : chosen) {
    for (int channel = 0; channel < channels; ++channel) {
      Slice slice = project(std::span(sample.voxels).subspan(static_cast<std::size_t>(channel) * size, size),
                            spec.side(), depth);
      if (spec.input.kind == VoxelKind::counts)
        std::ranges::for_each(slice.values, [&](double& value) { value /= spec.mean_count; });
      slices.push_back(std::move(slice));
    }
  }
  return slices;
}

/// The colours between two values, with the values below them.
std::string draw_bar(double x, double y, double width, const ColourScale& colours, const char* title) {
  std::array<float, 256> steps;
  std::iota(steps.begin(), steps.end(), 0.0f);
  std::string content =
      svg::picture(x, y, width, kBar, core::encode_png(256, 1, steps, 0, 255, core::density_palette()));
  const double high = colours.low < colours.high ? colours.high : colours.low + 1;
  const svg::Axis axis = colours.logarithmic ? svg::logarithmic_axis(colours.low, high, x, x + width)
                                             : svg::linear_axis(colours.low, high, x, x + width, 8);
  for (const double mark : axis.marks) {
    const double at = axis.place(mark);
    content += svg::line(at, y + kBar, at, y + kBar + 5, svg::kInk);
    content += svg::text(at, y + kBar + kLine, "middle", fmt::format("{:.6g}", mark));
  }
  return content + svg::text(x + width / 2, y + kBar + 2 * kLine + 4, "middle", title);
}

/// How often voxels have a value: (value, share of the voxels per unit of value).
using Distribution = std::vector<std::pair<double, double>>;

/// Edges of the bins of values. Counts: one bin per small count, then bins that widen by a ninth. A field: 64
/// equal bins.
std::vector<double> bin_edges(bool counts, double low, double high) {
  std::vector<double> edges = {counts ? 0 : low};
  while (counts && edges.back() <= high) {
    edges.push_back(std::max(edges.back() + 1, std::floor(edges.back() * 10 / 9)));
  }
  constexpr int kBins = 64;
  for (int i = 1; !counts && i <= kBins; ++i)
    edges.push_back(std::lerp(low, high, static_cast<double>(i) / kBins));
  return edges;
}

Distribution distribution_of(std::span<const float> voxels, bool counts, const std::vector<double>& edges) {
  std::vector<double> found(edges.size() - 1, 0.0);
  for (const float value : voxels) {
    const auto next = std::upper_bound(edges.begin() + 1, edges.end() - 1, static_cast<double>(value));
    ++found[static_cast<std::size_t>(next - edges.begin()) - 1];
  }
  Distribution distribution;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double width = edges[i + 1] - edges[i];
    const double centre = edges[i] + (counts ? width - 1 : width) / 2;
    if (found[i] > 0)
      distribution.emplace_back(centre, found[i] / (static_cast<double>(voxels.size()) * width));
  }
  return distribution;
}

/// A sample's place and its first parameters, on two lines to the right of `x`.
std::string caption(double x, double y, const DatasetManifest& dataset, const ChosenSample& sample) {
  const auto& names = dataset.spec.parameters.names;
  std::string parameters;
  for (std::size_t p = 0; p < std::min<std::size_t>(2, names.size()); ++p)
    parameters += fmt::format("{}{} {:.3g}", p == 0 ? "" : ", ", names[p], sample.record.parameters[p]);
  return svg::text(x, y, "start",
                   fmt::format("{} {}/{}", name_of(sample.split), sample.record.simulation,
                               sample.record.subvolume)) +
         svg::text(x, y + kLine - 3, "start", svg::escaped(parameters), " font-size=\"11\"");
}

/// The distributions of the first channel's values. Counts are drawn at 1 + count, so that empty voxels have a
/// place on the logarithmic axis.
std::string draw_distributions(double left, double top, double right, const DatasetManifest& dataset,
                               const std::vector<ChosenSample>& chosen) {
  const bool counts = dataset.spec.input.kind == VoxelKind::counts;
  const std::size_t size = channel_size(dataset.spec);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ChosenSample& sample : chosen) {
    const auto [least, most] = std::ranges::minmax(std::span(sample.voxels).first(size));
    low = std::min<double>(low, least);
    high = std::max<double>(high, most);
  }
  if (!(low < high)) high = low + std::max(1.0, 1e-3 * std::abs(low));
  const std::vector<double> edges = bin_edges(counts, low, high);
  std::vector<Distribution> distributions;
  double rarest = std::numeric_limits<double>::infinity(), commonest = 0;
  for (const ChosenSample& sample : chosen) {
    distributions.push_back(distribution_of(std::span(sample.voxels).first(size), counts, edges));
    for (const auto& [value, share] : distributions.back()) {
      rarest = std::min(rarest, share);
      commonest = std::max(commonest, share);
    }
  }
  const svg::Axis x = counts ? svg::logarithmic_axis(0.9, 1.1 * (1 + high), left, right)
                             : svg::linear_axis(low, high, left, right, 8);
  const svg::Axis y = svg::logarithmic_axis(rarest / 1.5, commonest * 1.5, top + kPlot, top);
  const std::string redshift = dataset.spec.input.channels() > 1
                                   ? fmt::format(", z = {:g}", dataset.spec.input.redshifts.front())
                                   : "";
  std::string content =
      svg::frame(x, y, (counts ? "1 + particles in a voxel" : "value of a voxel") + redshift,
                 counts ? "share of the voxels per particle" : "share of the voxels per unit of the value");
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    const char* colour = kColours[s % kColours.size()];
    std::string points;
    for (const auto& [value, share] : distributions[s])
      points += fmt::format("{:.1f},{:.1f} ", x.place(value + (counts ? 1 : 0)), y.place(share));
    content += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                           points, colour);
    if (distributions[s].size() == 1) {
      const auto& [value, share] = distributions[s].front();
      content += svg::circle(x.place(value + (counts ? 1 : 0)), y.place(share), 4,
                             fmt::format(" fill=\"{}\"", colour));
    }
    const double line = top + 2 * kLine * static_cast<double>(s) + kLine;
    content += svg::line(right + 10, line - 4, right + 32, line - 4, colour, " stroke-width=\"3\"");
    content += caption(right + 38, line, dataset, chosen[s]);
  }
  return content;
}

}  // namespace

std::vector<ChosenSample> choose_samples(const std::filesystem::path& directory,
                                         const DatasetManifest& dataset, int samples) {
  std::vector<ChosenSample> chosen;
  const auto wanted = [&](Split split) {  // samples of this split, if splits take turns
    const int turn = static_cast<int>(split);
    return static_cast<std::size_t>((samples - turn + 2) / 3);
  };
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    std::size_t left = wanted(split);
    for (const std::string& path : dataset.split(split).shards) {
      if (left == 0) break;
      core::read_checked(directory, *dataset.base.find(path), [&](const std::filesystem::path& file) {
        const ShardReader reader(file, dataset.spec);
        std::vector<std::byte> voxels(dataset.spec.input.bytes());
        for (std::size_t row = 0; row < reader.size() && left > 0; ++row, --left) {
          ChosenSample& sample = chosen.emplace_back(ChosenSample{split, reader.sample(row), {}});
          reader.tensor().read(row, std::span(voxels));
          with_voxels(dataset.spec.input.kind, voxels,
                      [&](auto values) { sample.voxels.assign(values.begin(), values.end()); });
        }
      });
    }
  }
  return chosen;
}

std::string sample_picture(const DatasetManifest& dataset, const std::vector<ChosenSample>& chosen) {
  const SampleSpec& spec = dataset.spec;
  const int depth = std::max(1, spec.side() / 8), channels = std::min(kMostChannels, spec.input.channels());
  const std::vector<Slice> slices = slices_of(spec, chosen, channels, depth);
  const ColourScale colours = colour_scale(slices);

  const double columns = static_cast<double>(chosen.size());
  const double width = std::max(2 * kMargin + columns * kPanel + (columns - 1) * kGap, 900.0);
  std::string content =
      svg::text(kMargin, kMargin + 8, "start",
                fmt::format("slices of {:.4g} of {:.4g} {}, y right, z up{}", spec.voxel_size().value * depth,
                            spec.box_size.value, name_of(spec.box_size.unit),
                            channels < spec.input.channels()
                                ? fmt::format("; {} of {} redshifts", channels, spec.input.channels())
                                : ""));
  double y = kMargin + 2 * kLine;
  for (int channel = 0; channel < channels; ++channel) {
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      const double x = kMargin + static_cast<double>(s) * (kPanel + kGap);
      const std::size_t slice = s * static_cast<std::size_t>(channels) + static_cast<std::size_t>(channel);
      content += svg::text(
          x, y + kLine - 6, "start",
          fmt::format("{} {}/{}, z = {:g}", name_of(chosen[s].split), chosen[s].record.simulation,
                      chosen[s].record.subvolume, spec.input.redshifts[static_cast<std::size_t>(channel)]));
      content +=
          svg::picture(x, y + kLine, kPanel, kPanel,
                       image_of(slices[slice], colours, std::max(1, static_cast<int>(kPanel) / spec.side())));
    }
    y += kPanel + 2 * kLine;
  }
  content += draw_bar(
      kMargin, y, width - 2 * kMargin, colours,
      spec.input.kind == VoxelKind::counts ? "density / mean, averaged along x" : "value, averaged along x");
  y += kBar + 4 * kLine;
  content += draw_distributions(kMargin + kAxis, y, width - kMargin - kLegend, dataset, chosen);
  return svg::image(width, y + kPlot + 3 * kLine + kMargin, "Samples", content);
}

}  // namespace cosmo::dataset
