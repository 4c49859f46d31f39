#include "infer/tool/export_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/file/byte_file.hpp"
#include "core/file/files.hpp"
#include "core/file/text_file.hpp"
#include "core/output/output_directory.hpp"
#include "infer/onnx/onnx_model.hpp"
#include "infer/predict/unfinished.hpp"

namespace cosmo::infer {

using core::ensure;
using core::Fault;

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "model.onnx";

/// Whether --output is to be the file itself.
bool is_file_name(const fs::path& output) { return output.extension() == ".onnx"; }

std::string encode(const std::string& model) { return encode_onnx(Predictor(model, 1)); }

/// Writes the file unless it is there already; returns whether it was. Called by one rank.
bool write_file(const std::string& bytes, const fs::path& path, bool force) {
  ensure(!fs::is_directory(path), Fault::config, "{} is a directory: name another file.", path.string());
  if (fs::exists(path)) {
    const std::vector<std::byte> there = core::read_bytes(path);
    if (std::ranges::equal(std::as_bytes(std::span(bytes)), there)) return true;
    ensure(force, Fault::config, "{} holds something else: give --force to replace it, or another --output.",
           path.string());
  }
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
  return false;
}

/// Fills in the summary's facts of --output FILE.onnx. Collective.
void export_file(const core::Invocation& run, const std::string& model, const fs::path& path,
                 core::Json& summary) {
  std::uint64_t up_to_date = 0;
  run.comm.agree([&] {
    if (run.comm.is_root()) up_to_date = write_file(encode(model), path, run.options.flag("force")) ? 1 : 0;
  });
  summary["up_to_date"] = run.comm.max(up_to_date) > 0;
}

/// Fills in the summary's facts of --output DIR. Collective.
void export_directory(const core::Invocation& run, const std::string& model, const core::Request& request,
                      core::Json& summary) {
  core::OutputDirectory output(run.comm, run.log, run.options.text("output"), request,
                               {run.options.flag("force"), {}});
  summary["up_to_date"] = output.up_to_date();
  summary["id"] = request.id();
  if (output.up_to_date()) return;
  std::string bytes;
  run.comm.agree([&] {
    if (run.comm.is_root()) bytes = encode(model);
  });
  output.add_text(kFile, bytes);
  output.finish(run.tool, {{"onnx", kFile}}, run.facts);
}

}  // namespace

void declare_export(core::Options& options) {
  options.add("model", std::nullopt, "directory that cosmo-train wrote");
  options.add("format", "onnx", "onnx: of raw counts to physical parameters (docs/inference.md)");
  declare_unfinished(options);
}

void run_export(const core::Invocation& run) {
  std::string model;
  fs::path target;
  core::Request request;
  run.comm.agree([&] {
    (void)run.options.choice("format", {"onnx"});
    model = run.options.text("model");
    target = run.options.text("output");
    const nn::ModelManifest manifest = nn::load_model_manifest(model);
    (void)unfinished(run.options, {model}, {manifest});  // the file holds "complete"
    const fs::path directory = is_file_name(target) ? fs::absolute(target).parent_path() : target;
    request = {"onnx",
               {{"format", "onnx"}, {"checkpoint", manifest.best().sha256}},
               {core::input_record(model, manifest.base, directory)}};
  });
  const fs::path file = is_file_name(target) ? target : target / kFile;
  core::Json summary = {{"onnx", file.string()}};
  if (run.options.flag("dry-run")) return run.report(summary, fmt::format("would write {}\n", file.string()));
  is_file_name(target) ? export_file(run, model, target, summary)
                       : export_directory(run, model, request, summary);
  const bool up_to_date = summary.at("up_to_date");
  run.report(summary, fmt::format("{}{}\n", file.string(), up_to_date ? " is up to date" : ""));
}

}  // namespace cosmo::infer
