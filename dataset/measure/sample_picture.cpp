#include "dataset/measure/sample_picture.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "dataset/exchange/exchange_format.hpp"
#include "dataset/measure/slice.hpp"
#include "dataset/shard/shard_reader.hpp"

namespace cosmo::dataset {

using core::Canvas;

namespace {

constexpr int kMargin = 24, kGap = 28, kLine = 20;  // pixels
constexpr int kAxisWidth = 90;                      // left of the distribution, for its labels
constexpr int kPlotHeight = 360;
constexpr int kPanel = 384;  // pixels per side: slices enlarged to at most this, or shrunk to twice this

/// A map of values to 0 … 1, with labelled ticks.
struct Scale {
  bool logarithmic;
  double low, high;
  std::vector<double> ticks;

  double operator()(double value) const {
    if (logarithmic) return value > 0 ? std::log(value / low) / std::log(high / low) : -1;
    return (value - low) / (high - low);
  }
};

/// Decades, and 2 and 5 times them where there are few, or round numbers.
Scale make_scale(bool logarithmic, double low, double high) {
  if (!(low < high)) high = low + (low == 0 ? 1 : std::abs(low));
  Scale scale{logarithmic, low, high, {}};
  if (logarithmic) {
    const bool few = high / low < 300;
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
      for (const double times : {1.0, 2.0, 5.0}) {
        const double tick = decade * times;
        if ((times == 1 || few) && tick >= low * 0.999 && tick <= high * 1.001) scale.ticks.push_back(tick);
      }
    }
  } else {
    const double rough = (high - low) / 4, decade = std::pow(10, std::floor(std::log10(rough)));
    const double step = decade * (rough < 2 * decade ? 1 : rough < 5 * decade ? 2 : 5);
    for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) scale.ticks.push_back(tick);
  }
  return scale;
}

void draw_slice(Canvas& canvas, int x, int y, int panel, const Slice& slice, const Scale& scale) {
  for (int row = 0; row < panel; ++row) {  // z upwards
    for (int column = 0; column < panel; ++column) {
      const int across = column * slice.side / panel, up = (panel - 1 - row) * slice.side / panel;
      canvas.fill(x + column, y + row, 1, 1,
                  Canvas::shade(scale(slice.values[static_cast<std::size_t>(across * slice.side + up)])));
    }
  }
}

void draw_bar(Canvas& canvas, int x, int y, int width, const Scale& scale, const std::string& title) {
  for (int i = 0; i < width; ++i)
    canvas.fill(x + i, y, 1, 14, Canvas::shade(static_cast<double>(i) / (width - 1)));
  int free_from = 0;  // where the last label ends
  for (const double tick : scale.ticks) {
    const int at = x + static_cast<int>(std::lround(scale(tick) * (width - 1)));
    const std::string label = fmt::format("{:g}", tick);
    const int left = at - Canvas::text_width(label) / 2;
    canvas.fill(at, y + 14, 1, 5, Canvas::black);
    if (left > free_from) canvas.text(left, y + 22, label);
    if (left > free_from) free_from = left + Canvas::text_width(label) + 8;
  }
  canvas.text(x, y + 22 + kLine, title, Canvas::grey);
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

std::string caption(const DatasetManifest& dataset, const ChosenSample& sample) {
  std::string text =
      fmt::format("{} {}/{}", name_of(sample.split), sample.record.simulation, sample.record.subvolume);
  const auto& names = dataset.spec.parameters.names;
  for (std::size_t p = 0; p < std::min<std::size_t>(2, names.size()); ++p)
    text += fmt::format("  {} {:.3g}", names[p], sample.record.parameters[p]);
  return text;
}

/// The frame, ticks and labels of a plot.
struct Plot {
  int x, y, width, height;
  Scale across, up;

  double place_x(double value) const { return x + across(value) * width; }
  double place_y(double value) const { return y + height - up(value) * height; }
};

void draw_axes(Canvas& canvas, const Plot& plot, const std::function<std::string(double)>& label,
               const std::string& title_x, const std::string& title_y) {
  for (const double tick : plot.across.ticks) {
    const int at = static_cast<int>(std::lround(plot.place_x(tick)));
    canvas.fill(at, plot.y, 1, plot.height, Canvas::pale);
    const std::string text = label(tick);
    canvas.text(at - Canvas::text_width(text) / 2, plot.y + plot.height + 8, text);
  }
  for (const double tick : plot.up.ticks) {
    const int at = static_cast<int>(std::lround(plot.place_y(tick)));
    canvas.fill(plot.x, at, plot.width, 1, Canvas::pale);
    const std::string text = fmt::format("{:g}", tick);
    canvas.text(plot.x - 8 - Canvas::text_width(text), at - Canvas::text_height() / 2, text);
  }
  canvas.fill(plot.x, plot.y, 1, plot.height, Canvas::black);
  canvas.fill(plot.x, plot.y + plot.height, plot.width, 1, Canvas::black);
  canvas.text(plot.x + plot.width / 2 - Canvas::text_width(title_x) / 2, plot.y + plot.height + 8 + kLine,
              title_x, Canvas::grey);
  canvas.text(plot.x, plot.y - kLine, title_y, Canvas::grey);
}

void draw_distribution(Canvas& canvas, int x, int y, int width, const DatasetManifest& dataset,
                       const std::vector<ChosenSample>& chosen) {
  const bool counts = dataset.spec.kind == VoxelKind::counts;
  const std::size_t channel = dataset.spec.voxels() / static_cast<std::size_t>(dataset.spec.channels());
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ChosenSample& sample : chosen) {
    const auto [least, most] = std::ranges::minmax_element(
        sample.voxels.begin(), sample.voxels.begin() + static_cast<std::ptrdiff_t>(channel));
    low = std::min<double>(low, *least);
    high = std::max<double>(high, *most);
  }
  const std::vector<double> edges = bin_edges(counts, low, high > low ? high : low + 1);
  std::vector<Distribution> distributions;
  double rarest = 1, commonest = 0;
  for (const ChosenSample& sample : chosen) {
    distributions.push_back(distribution_of(std::span(sample.voxels).first(channel), counts, edges));
    for (const auto& [value, share] : distributions.back()) {
      rarest = std::min(rarest, share);
      commonest = std::max(commonest, share);
    }
  }
  // Counts are drawn at 1 + count, so that empty voxels have a place on the logarithmic axis.
  const Plot plot{x + kAxisWidth,
                  y,
                  width - kAxisWidth,
                  kPlotHeight,
                  counts ? make_scale(true, 0.9, 1.1 * (1 + high)) : make_scale(false, low, high),
                  make_scale(true, rarest / 1.5, commonest * 1.5)};
  draw_axes(
      canvas, plot, [](double tick) { return fmt::format("{:g}", tick); },
      counts ? "1 + particles in a voxel" : "value of a voxel",
      counts ? "share of the voxels" : "share of the voxels, a unit of the value");
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    const std::uint8_t ink = Canvas::kCurves[s % Canvas::kCurves.size()];
    const double shift = counts ? 1 : 0;
    const Distribution& points = distributions[s];
    for (std::size_t i = 1; i < points.size(); ++i) {
      canvas.line(plot.place_x(points[i - 1].first + shift), plot.place_y(points[i - 1].second),
                  plot.place_x(points[i].first + shift), plot.place_y(points[i].second), ink, 2);
    }
    const int line = plot.y + 8 + static_cast<int>(s) * kLine;
    const std::string name = caption(dataset, chosen[s]);
    const int left = plot.x + plot.width - 44 - Canvas::text_width(name);
    canvas.fill(left - 6, line - 3, plot.x + plot.width - left + 6, kLine, Canvas::white);
    canvas.text(left, line, name);
    canvas.line(plot.x + plot.width - 34, line + 7, plot.x + plot.width - 6, line + 7, ink, 3);
  }
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
      core::check_content(directory, *dataset.base.find(path));
      const ShardReader reader(directory / path, dataset.spec);
      std::vector<std::byte> voxels(dataset.spec.bytes());
      for (std::size_t row = 0; row < reader.size() && left > 0; ++row, --left) {
        ChosenSample& sample = chosen.emplace_back(ChosenSample{split, reader.sample(row), {}});
        reader.read(row, voxels);
        with_voxels(dataset.spec.kind, voxels,
                    [&](auto values) { sample.voxels.assign(values.begin(), values.end()); });
      }
    }
  }
  return chosen;
}

Canvas sample_picture(const DatasetManifest& dataset, const std::vector<ChosenSample>& chosen) {
  const SampleSpec& spec = dataset.spec;
  const bool counts = spec.kind == VoxelKind::counts;
  const int side = spec.side(), depth = std::max(1, side / 8), channels = std::min(4, spec.channels());
  const int panel = side <= kPanel ? side * (kPanel / side) : std::min(side, 2 * kPanel);
  std::vector<Slice> slices;
  std::vector<double> all;
  for (const ChosenSample& sample : chosen) {
    for (int channel = 0; channel < channels; ++channel) {
      const std::size_t voxels = spec.voxels() / static_cast<std::size_t>(spec.channels());
      Slice slice = project(
          std::span(sample.voxels).subspan(static_cast<std::size_t>(channel) * voxels, voxels), side, depth);
      if (counts) std::ranges::for_each(slice.values, [&](double& value) { value /= spec.mean_count; });
      all.insert(all.end(), slice.values.begin(), slice.values.end());
      slices.push_back(std::move(slice));
    }
  }
  const bool positive = std::ranges::all_of(all, [](double value) { return value >= 0; });
  const Scale scale = make_scale(positive, quantile(all, 0.01, positive), quantile(all, 0.999, positive));

  const auto columns = static_cast<int>(chosen.size());
  const int width = std::max(2 * kMargin + columns * panel + (columns - 1) * kGap, 760);
  const int slices_height = channels * (panel + kLine + 8);
  const int bar_y = kMargin + 2 * kLine + slices_height + kLine;
  const int plot_y = bar_y + 22 + 2 * kLine + kGap + 2 * kLine;
  Canvas canvas(width, plot_y + kPlotHeight + 2 * kLine + kMargin);
  canvas.text(kMargin, kMargin,
              fmt::format("slices of {:.4g} of {:.4g} {}, y right, z up", (spec.voxel_size().value * depth),
                          spec.box_size.value, name_of(spec.box_size.unit)),
              Canvas::grey);
  for (int s = 0; s < columns; ++s) {
    const int x = kMargin + s * (panel + kGap);
    const ChosenSample& sample = chosen[static_cast<std::size_t>(s)];
    for (int channel = 0; channel < channels; ++channel) {
      const int y = kMargin + 2 * kLine + 8 + channel * (panel + kLine + 8);
      const double redshift = spec.redshifts[static_cast<std::size_t>(channel)];
      const std::string name = fmt::format("{} {}/{}  z = {:g}", name_of(sample.split),
                                           sample.record.simulation, sample.record.subvolume, redshift);
      canvas.text(x, y - kLine, name);
      draw_slice(canvas, x, y, panel, slices[static_cast<std::size_t>(s * channels + channel)], scale);
    }
  }
  draw_bar(canvas, kMargin, bar_y, width - 2 * kMargin, scale,
           counts     ? "density / mean, projected"
           : positive ? "value, projected"
                      : "value, projected, linear");
  draw_distribution(canvas, kMargin, plot_y, width - 2 * kMargin, dataset, chosen);
  return canvas;
}

}  // namespace cosmo::dataset
