#pragma once
// report.html: all of an inference on one page that needs nothing else.

#include <string>
#include <vector>

#include "core/output/output_directory.hpp"
#include "core/parallel/communicator.hpp"
#include "dataset/load/split_reader.hpp"
#include "infer/evaluate/method.hpp"
#include "infer/predict/deviation_kind.hpp"
#include "infer/report/lineage.hpp"
#include "infer/report/page/html.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// The content of a report.
struct Report {
  const Methods& methods;
  const core::Json& metrics;  ///< metrics.json; sections whose part is not there are left out
  const nn::ModelManifest& model;
  const DeviationKind& deviations;  ///< those that the network's predictions have
  std::string split;
  std::string warning;  ///< in red at the top; empty for none
  core::Request request;
  std::vector<double> draws =
      {};                 ///< from the posterior of universe `drawn` (draws, P), physical; empty without
  std::size_t drawn = 0;  ///< its row among the universes
};

/// A report's images; an empty part has none.
struct ReportFigures {
  std::vector<html::Figure> errors;       ///< one per parameter
  std::vector<html::Figure> predictions;  ///< one per parameter
  std::vector<html::Figure> calibration;  ///< ranks of each parameter, then the coverage of all together
  std::vector<html::Figure> corner;       ///< the posterior of one universe
  std::vector<html::Figure> settings;     ///< biases by setting
  std::vector<html::Figure> loss;
  bool losses_alone = false;  ///< whether both of its curves are of the network without its baseline
  std::vector<html::Figure> universes;
  std::string universes_caption;  ///< markup

  std::vector<const html::Figure*> all() const;
};

/// The page. A pure function of its arguments and of the program's version.
std::string report_html(const Report& report, const ReportFigures& figures,
                        const std::vector<Ancestor>& ancestors);

/// Where a report finds what it shows.
struct ReportSources {
  std::filesystem::path model;        ///< directory
  const nn::ModelManifest& manifest;  ///< manifest of the model
  dataset::SplitReader& reader;
  const dataset::DatasetManifest& data;
};

/// Publishes figures/ and report.html. They are the same bytes on any number of ranks and threads, since
/// times are only those in run.json of the earlier stages. Collective; throws agreed Errors.
void publish_report(const core::Communicator& comm, const Report& report, const ReportSources& sources,
                    core::OutputDirectory& output);

}  // namespace cosmo::infer
