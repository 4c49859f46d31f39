#include "infer/tool/compare_command.hpp"

#include <filesystem>

#include "core/error.hpp"
#include "core/file/files.hpp"
#include "core/picture/image_file.hpp"
#include "infer/compare/page.hpp"
#include "infer/compare/side_by_side.hpp"

namespace cosmo::infer {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostRuns = 50;
constexpr core::ImageFormat kHtml = {"an HTML page", "<!DOCTYPE html>"};

/// The page that --html names. Throws Error{usage} or Error{config}.
fs::path page_path(const core::Options& options) {
  const fs::path page = options.text("html");
  core::ensure(page.extension() == ".html", core::Fault::usage,
               "--html {} does not end in .html: give FILE.html.", page.string());
  core::ensure(!fs::is_directory(page), core::Fault::config, "--html {} is a directory: name a file.",
               page.string());
  core::check_replaceable(page, kHtml, "--html");
  return page;
}

void write_page(const fs::path& page, const std::string& content) {
  core::make_directory(fs::absolute(page).parent_path());
  core::publish_image(page, content);
}

}  // namespace

void declare_compare(core::Options& options) {
  options.add_positionals(
      "run", "two to 50 directories that cosmo-train wrote (models) or cosmo-infer (predictions, --output)");
  options.add("html FILE", std::nullopt,
              "write a page with the tables and figures of the learning curves: FILE.html");
}

void run_compare(const core::Invocation& run) {
  SideBySide all;
  std::string page;
  run.comm.agree([&] {
    const std::vector<std::string> names = run.options.texts("run");
    core::ensure(names.size() >= 2 && names.size() <= kMostRuns, core::Fault::usage,
                 "There {} {} to compare: give 2 to {} directories of trainings or predictions.",
                 names.size() == 1 ? "is" : "are",
                 names.size() == 1 ? "one run" : fmt::format("{} runs", names.size()), kMostRuns);
    if (run.options.given("html")) page = page_path(run.options).string();
    std::vector<ComparedRun> runs;
    for (const std::string& name : names) runs.push_back(read_run(name));
    all = side_by_side(std::move(runs));
    if (!page.empty() && run.comm.is_root()) write_page(page, comparison_page(all));
  });
  core::Json summary = to_json(all);
  std::string text = to_text(all);
  if (!page.empty()) {
    summary["html"] = page;
    text += page + '\n';
  }
  run.report(summary, text);
}

}  // namespace cosmo::infer
