// The page draws itself from the JSON it carries: one source for machines and people.
#include <nlohmann/json.hpp>

#include "quantization/report_json.h"

namespace lq::quantization {
namespace {

constexpr const char* kStyle = R"css(
:root { --int8: #2f7d4f; --float: #b3562b; --other: #9aa3ad; --ink: #1d2329; --faint: #66707a; --line: #d9dee3; --bad: #b3261e; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: #fff; margin: 0 auto; max-width: 1100px; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p.note { color: var(--faint); margin: 0 0 .6rem; } code { font-size: .9em; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--faint); } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; } .tile { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem; min-width: 8rem; }
.tile b { display: block; font-size: 1.3rem; } .tile span { color: var(--faint); }
.bar { background: var(--int8); height: .8rem; border-radius: 2px; } .bar.low { background: var(--bad); } .bar.slow { background: var(--float); } td.barcell { width: 40%; }
.map { display: flex; flex-wrap: wrap; gap: 2px; } .map span { width: 16px; height: 16px; border-radius: 2px; background: var(--other); }
.map .int8 { background: var(--int8); } .map .float { background: var(--float); } .map .half { background: linear-gradient(135deg, var(--int8) 50%, var(--float) 50%); }
.key { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin: 0 .3rem 0 1rem; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: .8rem; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; cursor: zoom-in; min-width: 0; }
figure.large { grid-column: 1 / -1; cursor: zoom-out; } figcaption { font-size: .8rem; color: var(--faint); overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: 110px; } figure.large svg { height: 360px; }
li { margin: .25rem 0; overflow-wrap: anywhere; } .taken { color: var(--int8); } .advice { color: var(--faint); }
)css";

constexpr const char* kScript = R"js(
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');
const fixed = (v, digits, unit) => v === null || v === undefined ? '–' : v.toFixed(digits) + (unit || '');
const size = n => n < 1e4 ? n + ' bytes' : n < 1e6 ? (n / 1e3).toFixed(1) + ' kB' : (n / 1e6).toFixed(2) + ' MB';
const short = v => Number(v.toPrecision(4)).toString();
function add(parent, tag, text, attributes) {
  const e = document.createElement(tag);
  if (text !== undefined && text !== '') e.textContent = text;
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  parent.appendChild(e);
  return e;
}
function svg(parent, width, height) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  e.setAttribute('viewBox', `0 0 ${width} ${height}`);
  e.setAttribute('preserveAspectRatio', 'none');
  parent.appendChild(e);
  return e;
}
function draw(parent, tag, attributes) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  parent.appendChild(e);
  return e;
}
function section(id, title, note) {
  const s = add(main, 'section', '', {id});
  add(s, 'h2', title);
  if (note) add(s, 'p', note, {class: 'note'});
  return s;
}
function figure(parent, caption) {
  const f = add(parent, 'figure', '', {tabindex: '0'});
  const toggle = () => f.classList.toggle('large');
  f.addEventListener('click', toggle);
  f.addEventListener('keydown', e => { if (e.key === 'Enter') toggle(); });
  const s = svg(f, 256, 100);
  add(f, 'figcaption', caption);
  return s;
}
const title = n => n.name || n.output;

function summary() {
  add(main, 'h1', data.model + ' → ' + data.output);
  add(add(main, 'p', '', {class: 'note'}), 'code', data.options);
  const s = add(main, 'section', '', {id: 'summary'});
  const tiles = add(s, 'div', '', {class: 'tiles'});
  const tile = (value, text) => { const t = add(tiles, 'div', '', {class: 'tile'}); add(t, 'b', value); add(t, 'span', text); };
  const ratio = data.bytes_before > 0 ? ' (' + (100 * data.bytes_after / data.bytes_before).toFixed(0) + ' %)' : '';
  tile(size(data.bytes_after) + ratio, 'was ' + size(data.bytes_before));
  tile(fixed(data.output_sqnr_db, 1, ' dB'), 'outputs against float');
  tile(data.top1_agreement === null ? '–' : (100 * data.top1_agreement).toFixed(1) + ' %', 'same top-1 as float');
  tile(data.int8_mac_share === null ? '–' : (100 * data.int8_mac_share).toFixed(2) + ' %', 'multiply-adds in int8');
  tile(data.int8_operators + ' / ' + data.float_operators, 'operators int8 / float');
  tile(data.samples_used, data.skipped.length + ' skipped, ' + data.samples_compared + ' compared');
}

function findings() {
  const s = section('findings', 'Findings', data.warnings.length ? '' : 'Nothing to report.');
  const list = add(s, 'ul');
  for (const w of data.warnings) {
    const item = add(list, 'li', w.message + ': ', {'data-kind': w.kind});
    add(item, 'span', w.advice, {class: w.taken ? 'taken' : 'advice'});
  }
  for (const x of data.skipped) add(list, 'li', 'skipped ' + x.name + ': ' + x.reason);
}

function mixedPrecision() {
  const m = data.mixed_precision;
  if (!m) return;
  const s = section('mixed', 'Mixed precision', `${m.metric} on ${m.samples} samples: ${m.drop_before.toFixed(2)} before, ` +
      `${m.drop_after.toFixed(2)} after; asked for ${m.max_drop}. Price: ${(100 * m.float_mac_share).toFixed(2)} % of multiply-adds in float.`);
  if (!m.layers.length) return;
  const rows = add(s, 'table');
  const head = add(rows, 'tr');
  for (const t of ['layer', 'alone in int8', 'multiply-adds', 'now']) add(head, 'th', t);
  for (const l of [...m.layers].sort((a, b) => b.isolated_error - a.isolated_error)) {
    const row = add(rows, 'tr');
    add(row, 'td', l.node);
    add(row, 'td', l.isolated_error > 0 ? (-10 * Math.log10(l.isolated_error)).toFixed(1) + ' dB' : '–', {class: 'number'});
    add(row, 'td', l.macs, {class: 'number'});
    add(row, 'td', l.kept_float ? 'float' : 'int8');
  }
}

function precisionMap() {
  const s = section('map', 'Precision map', 'Operators in execution order; point at one for its name and reason.');
  const key = add(s, 'p', '', {class: 'note'});
  for (const [color, text] of [['var(--int8)', 'int8'], ['linear-gradient(135deg, var(--int8) 50%, var(--float) 50%)', 'int8, float result'],
                               ['var(--float)', 'float'], ['var(--other)', 'shapes and indices']]) {
    add(key, 'span', '', {class: 'key', style: 'background:' + color});
    key.append(text);
  }
  const map = add(s, 'div', '', {class: 'map'});
  for (const n of data.nodes) {
    const kind = n.precision === 'int8' ? (n.float_output ? 'half' : 'int8') : n.precision === 'float' ? 'float' : '';
    add(map, 'span', '', {class: kind, title: `${n.operator} ${title(n)}: ${n.precision}${n.reason ? ' — ' + n.reason : ''}`});
  }
}

function sqnr() {
  const rows = data.nodes.filter(n => n.precision === 'int8' && n.sqnr_db !== null);
  if (!rows.length) return;
  const s = section('sqnr', 'Signal-to-quantization-noise by operator',
      'Each int8 operator\'s result against the float model\'s, errors before it included. Red: below 10 dB.');
  const table = add(s, 'table');
  const head = add(table, 'tr');
  for (const t of ['operator', 'dB', '', 'clipped']) add(head, 'th', t, t === 'dB' || t === 'clipped' ? {class: 'number'} : {});
  const top = Math.max(20, ...rows.map(n => Math.min(n.sqnr_db, 80)));
  for (const n of rows) {
    const row = add(table, 'tr');
    add(row, 'td', n.operator + ' ' + title(n));
    add(row, 'td', n.sqnr_db.toFixed(1), {class: 'number'});
    const width = Math.max(1, 100 * Math.min(Math.max(n.sqnr_db, 0), top) / top);
    add(add(row, 'td', '', {class: 'barcell'}), 'div', '', {class: n.sqnr_db < 10 ? 'bar low' : 'bar', style: `width:${width}%`});
    add(row, 'td', n.clipped_share === null ? '–' : (100 * n.clipped_share).toFixed(2) + ' %', {class: 'number'});
  }
}

function times() {
  const rows = data.nodes.filter(n => n.milliseconds !== null);
  if (!rows.length) return;
  const total = rows.reduce((sum, n) => sum + n.milliseconds, 0), top = Math.max(1e-9, ...rows.map(n => n.milliseconds));
  const s = section('times', 'Time by operator', `On the machine that quantized, one thread: ${total.toFixed(2)} ms together.`);
  const table = add(s, 'table');
  for (const n of rows) {
    const row = add(table, 'tr');
    add(row, 'td', n.operator + ' ' + title(n));
    add(row, 'td', n.milliseconds.toFixed(3) + ' ms', {class: 'number'});
    add(add(row, 'td', '', {class: 'barcell'}), 'div', '', {class: n.precision === 'float' ? 'bar slow' : 'bar', style: `width:${Math.max(0.5, 100 * n.milliseconds / top)}%`});
  }
}

function histograms() {
  const rows = data.tensors.filter(t => t.histogram);
  if (!rows.length) return;
  const s = section('histograms', 'Values of each int8 tensor',
      'Counts on a logarithmic scale over the values seen; red lines: what int8 covers, values outside are clipped. Click to enlarge.');
  const grid = add(s, 'div', '', {class: 'grid'});
  for (const t of rows) {
    const picture = figure(grid, `${t.names[0]}${t.names.length > 1 ? ' and ' + (t.names.length - 1) + ' more' : ''}: ` +
        `[${short(t.range[0])}, ${short(t.range[1])}] of [${short(t.observed[0])}, ${short(t.observed[1])}], ` +
        `scale ${short(t.scale)}, zero point ${t.zero_point}`);
    const counts = t.histogram.counts, limit = t.histogram.limit || 1;
    const top = Math.log1p(Math.max(1, ...counts));
    // One-sided tensors use the whole width.
    const low = t.observed[0] < 0 ? -limit : 0, high = t.observed[1] > 0 ? limit : 0;
    const x = v => 256 * (v - low) / ((high - low) || 1);
    let path = '';
    counts.forEach((c, i) => {
      const left = limit * (2 * i / counts.length - 1), right = limit * (2 * (i + 1) / counts.length - 1);
      if (c > 0) path += `M${x(left).toFixed(2)} 100V${(100 - 95 * Math.log1p(c) / top).toFixed(2)}H${x(right).toFixed(2)}V100Z`;
    });
    draw(picture, 'path', {d: path, fill: '#5b7fa6'});
    for (const edge of t.range)
      draw(picture, 'line', {x1: x(edge), x2: x(edge), y1: 0, y2: 100, stroke: '#b3261e', 'vector-effect': 'non-scaling-stroke', 'stroke-width': 1.5});
  }
}

function weights() {
  const rows = data.nodes.filter(n => n.weight_min);
  if (!rows.length) return;
  const s = section('weights', 'Weights by output channel', 'From the smallest to the largest weight of each channel. Click to enlarge.');
  const grid = add(s, 'div', '', {class: 'grid'});
  for (const n of rows) {
    const low = Math.min(...n.weight_min), high = Math.max(...n.weight_max), channels = n.weight_min.length;
    const picture = figure(grid, `${n.operator} ${title(n)}: ${channels} channels, [${short(low)}, ${short(high)}]`);
    const y = v => 98 - 96 * (v - low) / ((high - low) || 1), step = 256 / channels;
    let path = '';
    for (let c = 0; c < channels; ++c) {
      const left = (c + 0.1) * step, right = (c + 0.9) * step;
      path += `M${left.toFixed(2)} ${y(n.weight_min[c]).toFixed(2)}V${y(n.weight_max[c]).toFixed(2)}H${right.toFixed(2)}V${y(n.weight_min[c]).toFixed(2)}Z`;
    }
    draw(picture, 'path', {d: path, fill: '#2f7d4f'});
    draw(picture, 'line', {x1: 0, x2: 256, y1: y(0), y2: y(0), stroke: '#66707a', 'vector-effect': 'non-scaling-stroke', 'stroke-width': .5});
  }
}

function floatNodes() {
  const rows = data.nodes.filter(n => n.precision === 'float');
  if (!rows.length) return;
  const s = section('float', 'Left in float');
  const table = add(s, 'table');
  for (const n of rows) {
    const row = add(table, 'tr');
    add(row, 'td', n.operator + ' ' + title(n));
    add(row, 'td', n.reason);
  }
}

for (const part of [summary, findings, mixedPrecision, precisionMap, sqnr, times, histograms, weights, floatNodes]) part();
document.body.dataset.ready = 'yes';
)js";

/// JSON inside a script element: no "</script>" and no "<!--" may appear in it.
std::string for_script(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  for (char c : text) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

}  // namespace

std::string report_page(const nlohmann::json& report) {
  return std::string("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">") +
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" +
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'; img-src data:\">" +
         "<link rel=\"icon\" href=\"data:,\"><title>libquant report</title><style>" + kStyle +
         "</style></head><body><main id=\"main\"></main><noscript>This page draws itself with "
         "JavaScript.</noscript>\n" +
         "<script type=\"application/json\" id=\"data\">" + for_script(report) + "</script>\n<script>" + kScript +
         "</script></body></html>\n";
}

}  // namespace lq::quantization
