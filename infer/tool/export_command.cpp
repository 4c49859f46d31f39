#include "infer/tool/export_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/file/byte_file.hpp"
#include "core/file/files.hpp"
#include "core/file/text_file.hpp"
#include "core/finite.hpp"
#include "core/machine/memory.hpp"
#include "core/run/dry_run.hpp"
#include "core/run/stage.hpp"
#include "infer/doubt/training_doubts.hpp"
#include "infer/onnx/onnx_model.hpp"
#include "infer/onnx/posterior_nodes.hpp"
#include "infer/predict/costs.hpp"
#include "nn/model/ensemble.hpp"
#include "nn/model/model_posterior.hpp"

namespace cosmo::infer {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "model.onnx";

/// Whether --output is to be the file itself.
bool is_file_name(const fs::path& output) { return output.extension() == ".onnx"; }

/// Throws Error{numeric} for weights that give no numbers, too.
std::string encode(const std::string& model) {
  Predictor predictor(model, 1);
  const std::vector<float> ones(static_cast<std::size_t>(predictor.model().network_input().elements()), 1);
  ensure(
      core::all_finite(predictor.predict(ones)), Fault::numeric,
      "The network of {} gives no finite numbers for equal voxels: its weights are damaged, restore it or train "
      "again.",
      model);
  return encode_onnx(model, predictor);
}

/// Logs that the file will lack a posterior that the model has.
void note_posterior(const core::Invocation& run, const nn::ModelManifest& model) {
  if (model.base.find(nn::kPosteriorFile) == nullptr || has_graph_posterior(model)) return;
  run.log.warn(
      "The file has no posterior: ONNX graphs of it are for at most {} parameters, and the model has {}. cosmo-infer "
      "computes it.",
      kMostGraphParameters, model.parameters.size());
}

/// Whether the file is there already. Throws Error{config} if there is something that may not be replaced: a
/// directory, another kind of file, or, without `force`, another network.
bool is_there(const std::string& bytes, const fs::path& path, bool force) {
  ensure(!fs::is_directory(path), Fault::config, "{} is a directory: name another file.", path.string());
  if (!fs::exists(path)) return false;
  const std::vector<std::byte> existing = core::read_bytes(path);
  if (std::ranges::equal(std::as_bytes(std::span(bytes)), existing)) return true;
  constexpr std::size_t kStart = 2;  // the version of the format, with which ONNX files begin
  const bool is_onnx =
      existing.size() >= kStart &&
      std::ranges::equal(std::span(existing).first(kStart), std::as_bytes(std::span(bytes)).first(kStart));
  ensure(is_onnx, Fault::config, "{} is not an ONNX file: choose another --output.", path.string());
  ensure(force, Fault::config, "{} holds another network: give --force to replace it, or another --output.",
         path.string());
  return false;
}

void write_file(const std::string& bytes, const fs::path& path) {
  core::make_directory(fs::absolute(path).parent_path());
  const fs::path part = fmt::format("{}.{}.part", path.string(), ::getpid());  // others may write it, too
  try {
    core::write_text(part, bytes);
    core::publish_file(part, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw;
  }
}

/// Returns --model. Throws Error for wrong options, or if the model is not finished.
std::string read_model(const core::Invocation& run) {
  const core::Options& options = run.options;
  (void)options.choice("format");
  const std::string& model = options.text("model");
  ensure(
      nn::model_directories(model).size() == 1 && !nn::is_ensemble(model), Fault::config,
      "{} is an ensemble, and a graph has one network: export its models one by one and average their outputs, or "
      "predict with cosmo-infer, which has the ensemble's posterior.",
      model);
  const nn::ModelManifest manifest = nn::load_model_manifest(model);
  (void)training_doubts(options, {model}, {{manifest}});  // the file holds "complete"
  note_posterior(run, manifest);
  return model;
}

/// --output FILE.onnx, without a manifest. Collective.
void export_file(const core::Invocation& run, const fs::path& path) {
  const bool dry_run = run.options.flag("dry-run");
  std::uint64_t up_to_date = 0;
  core::Json facts = {{"onnx", path.string()}};
  run.comm.agree([&] {
    const std::string model = read_model(run);
    if (!run.comm.is_root()) return;
    const std::string bytes = encode(model);
    core::Json refusals = core::Json::array();
    core::refuse_or_report(run, refusals, [&] {
      core::ensure_place_for(fs::absolute(path).parent_path());
      up_to_date = is_there(bytes, path, run.options.flag("force")) ? 1 : 0;
    });
    if (dry_run)
      facts.update({{"dry_run", true}, {"refusals", refusals}});
    else if (up_to_date == 0)
      write_file(bytes, path);
  });
  up_to_date = run.comm.max(up_to_date);
  facts["up_to_date"] = up_to_date > 0;
  run.report(facts, fmt::format("{}{}{}\n", dry_run && up_to_date == 0 ? "would write " : "", path.string(),
                                up_to_date > 0 ? " is up to date" : ""));
}

/// --output DIR.
class OnnxStage : public core::Stage {
 public:
  explicit OnnxStage(const core::Invocation& invocation) : Stage(invocation) {
    run.comm.agree([&] {
      directory_ = read_model(run);
      model_ = {nn::load_model_manifest(directory_)};
      core::Json config = {{"format", "onnx"}, {"checkpoint", model_.best().sha256}};
      const auto name = [&](const char* key, const char* file) {  // what is in the graph beside the network
        if (const core::FileRecord* record = model_.base.find(file)) config[key] = record->sha256;
      };
      if (!model_.network.baseline.empty()) name("baseline", nn::kBaselineFile);
      if (has_graph_posterior(model_)) name("posterior", nn::kPosteriorFile);
      request = {"onnx", std::move(config), {core::input_record(directory_, model_.base, target)}};
    });
  }

  core::Needs needs(const core::Manifest&) override {
    const std::uint64_t disk = onnx_bytes(model_);
    return {.memory = core::resident_memory() + network_bytes({&model_, 1}, 1) + disk,
            .memory_cause = "The network needs",
            .memory_remedy = "free some",
            .disk = disk,
            .disk_missing = disk,
            .disk_cause = "The network to write"};
  }

  core::Report outline() override { return report(); }

  core::Report make(core::OutputDirectory& output) override {
    std::string bytes;
    run.comm.agree([&] {
      if (run.comm.is_root()) bytes = encode(directory_);
    });
    output.add_text(kFile, bytes);
    output.finish(run.tool, {{"onnx", kFile}}, run.facts);
    return report();
  }

  core::Report found(const core::Manifest&) override { return {report().facts, ""}; }

 private:
  core::Report report() const {
    const std::string file = (fs::path(target) / kFile).string();
    return {{{"onnx", file}}, file + "\n"};
  }

  std::string directory_;
  Model model_;
};

}  // namespace

void declare_export(core::Options& options) {
  options.add("model DIR", std::nullopt, "directory that cosmo-train wrote");
  options.add("format", "onnx", "onnx: from raw counts to physical parameters (docs/reference/onnx.md)",
              {"onnx"});
  declare_unfinished(options);
}

void run_export(const core::Invocation& run) {
  fs::path target;
  run.comm.agree([&] { target = run.options.text("output"); });
  if (is_file_name(target)) return export_file(run, target);
  OnnxStage stage(run);
  core::run_stage(stage);
}

}  // namespace cosmo::infer
