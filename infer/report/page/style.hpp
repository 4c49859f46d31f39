#pragma once
// How report.html looks: on a screen, in the dark, on a phone and on paper.

namespace cosmo::infer::html {

inline constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1c1d20; --soft: #5c6068; --rule: #d9dbe0; --paper: #ffffff;
  --tint: #f3f5f8; --accent: #0072b2; --alarm: #b00020; --shade: #0005; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7ea; --soft: #a0a5ae; --rule: #3a3d44;
  --paper: #17181b; --tint: #202226; --accent: #6bb8e6; --alarm: #ff6b7d; --shade: #fff5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  -webkit-text-size-adjust: 100%; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2rem 0 .6rem; padding-top: .6rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
p, figcaption, li { max-width: 44rem; }
p { margin: .6rem 0; }
ul { margin: .6rem 0; padding-left: 1.1rem; }
li { margin: .25rem 0; }
.lead { font-size: 1.08rem; }
.note, figcaption { color: var(--soft); font-size: .92rem; }
.alarm { max-width: none; margin: 0 0 1.5rem; padding: .8rem 1rem; background: var(--alarm); color: #fff;
  font-weight: 600; border-radius: .4rem; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
@media (prefers-color-scheme: dark) { .alarm { background: #b00020; } }
.doubt { margin: 0 0 1rem; padding: .6rem 1rem; border-left: .3rem solid var(--alarm); background: var(--tint); }
sub { font-size: .72em; line-height: 0; }
.wide { margin: 1rem 0; }
.wide, pre { overflow-x: auto; --back: var(--paper);
  background: linear-gradient(to right, var(--back) 40%, transparent) 0 0 / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--back) 40%, transparent) 100% 0 / 3rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) 0 0 / 1.1rem 100% no-repeat,
    linear-gradient(to left, var(--shade), transparent) 100% 0 / 1.1rem 100% no-repeat var(--back); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums; font-size: .95rem; }
th, td { padding: .38rem 0 .38rem 1.6rem; text-align: right; vertical-align: baseline; white-space: nowrap; }
th:first-child { text-align: left; padding-left: 0; }
td:last-child, th:last-child { padding-right: .25rem; }
a { color: var(--accent); }
thead th { border-bottom: 1px solid var(--ink); font-weight: 600; }
tbody th { font-weight: 400; }
tbody tr { border-bottom: 1px solid var(--rule); }
tr.ours th, tr.ours td { font-weight: 650; }
tr.forecast th, tr.forecast td { color: var(--soft); font-style: italic; }
td.text, .words td { text-align: left; }
.se { color: var(--soft); font-weight: 400; font-size: .9em; }
.under { display: block; }
figure { margin: 1.25rem 0; }
figcaption { margin-top: .5rem; }
.gallery { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
.gallery img { display: block; width: 100%; max-width: 26rem; height: auto; border-radius: .3rem; }
.gallery p { margin: .3rem 0 0; font-size: .88rem; font-variant-numeric: tabular-nums; }
.gallery.one img { max-width: 36rem; }
.gallery.small, .gallery.slices { grid-template-columns: repeat(auto-fit, minmax(min(46%, 12rem), 1fr)); }
.gallery.slices img { image-rendering: pixelated; max-width: 20rem; }
.bar { height: .7rem; max-width: 20rem; border-radius: .2rem; margin-top: .8rem;
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.bar-ends { display: flex; justify-content: space-between; max-width: 20rem; font-size: .85rem;
  color: var(--soft); font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 0 2rem;
  margin: .5rem 0 1rem; font-size: .92rem; }
dl div { display: flex; justify-content: space-between; gap: 1rem; padding: .22rem 0;
  border-bottom: 1px solid var(--rule); }
dl.long { grid-template-columns: 1fr; max-width: 54rem; }
dt { color: var(--soft); }
dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
details { margin: .75rem 0; }
summary { cursor: pointer; color: var(--accent); }
pre, code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .8rem; }
pre { padding: .8rem; --back: var(--tint); border-radius: .3rem; line-height: 1.4; }
code { overflow-wrap: anywhere; }
@media (max-width: 36rem) {
  body { padding: 1.25rem .9rem 3rem; }
  h1 { font-size: 1.4rem; }
  table { font-size: .86rem; }
  th, td { padding-left: .5rem; }
  .under { white-space: normal; }
  th:first-child { white-space: normal; }
  td .se { display: block; }
  .tall, .tall tbody, .tall tr, .tall th { display: block; }
  .tall thead { display: none; }
  .tall tr { padding: .4rem 0; }
  .tall tbody th { font-weight: 600; }
  .tall td { display: flex; justify-content: space-between; padding: .15rem 0; }
  .tall td::before { content: attr(data-column); color: var(--soft); }
}
@media print {
  :root { --ink: #000; --soft: #444; --rule: #bbb; --paper: #fff; --tint: #f4f4f4; --accent: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2 { margin-top: 1.5rem; }
  h2, h3, h3 + .note { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; }
  figure, table, tr, dl div, .alarm { break-inside: avoid; }
  .wide, pre { overflow: visible; white-space: pre-wrap; background: none; }
  .wide { white-space: normal; }
  .gallery { grid-template-columns: repeat(3, 1fr); }
  .gallery.slices { grid-template-columns: repeat(4, 1fr); }
  .gallery.one { grid-template-columns: 1fr; }
  .gallery.one img { max-width: 14cm; }
}
)css";

}  // namespace cosmo::infer::html
