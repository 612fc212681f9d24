// Writes pages as `fedsinkhorn report` does, with charts of every kind, for work on src/report/web and for the
// tests:  node sample.mjs FOLDER
//   sample.html    made-up but plausible numbers
//   hostile.html   the same, with HTML and odd text wherever a string of somebody's data may be
//   bare.html      without a chart library: tables only
//   edges.html     little, nothing, one, equal, huge: what data can also be
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const web = join(here, '../../src/report/web');
const library = process.env.CHART_LIBRARY || join(web, '../../../build/web/charts.js');

export const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'; alert(1); // {a|b} {value} %s",
  '</script><svg onload=alert(1)>',
  'a-very-long-name-without-any-space-' + 'x'.repeat(120),
];

/// The files of page.txt as one script, joined as cmake/join_scripts.cmake does.
function pageScript() {
  const names = readFileSync(join(web, 'page.txt'), 'utf8').split('\n').filter((name) => name);
  const parts = names.map((name) => readFileSync(join(web, name), 'utf8'));
  return `(() => {\n'use strict';\n${parts.join('')}})();\n`;
}

export const hasChartLibrary = () => existsSync(library) && statSync(library).size > 0;

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text) => String(text).replace(/[&<>"]/g, (character) => ENTITIES[character]);
// Nothing in a script element may look like its end.
const scriptJson = (value) => JSON.stringify(value).replace(/</g, '\\u003c');

/// The same numbers in every run: pictures of two runs can be compared.
function numbersFrom(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

function normalFrom(seed) {
  const uniform = numbersFrom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

const range = (count, make) => Array.from({ length: count }, (_, i) => make(i));

function convergence() {
  const normal = normalFrom(1);
  const error = (rate, i) => Math.max(3e-13, 0.7 * Math.exp(-rate * i) * Math.exp(0.05 * normal()));
  return {
    kind: 'lines',
    x: { title: 'iteration', unit: '', log: false },
    y: { title: 'L1 error of the marginals', unit: '', log: true },
    series: [
      { name: 'rows', points: range(120, (i) => [i * 10, error(0.25, i)]) },
      { name: 'columns', points: range(120, (i) => [i * 10, i > 60 && i < 66 ? null : error(0.21, i)]) },
    ],
    rules: [{ y: 1e-9, name: 'tolerance' }],
    levels: [{ x: 0, name: 'epsilon 0.1' }, { x: 400, name: 'epsilon 0.01' }, { x: 420, name: 'epsilon 0.001' }],
  };
}

function risk() {
  const xs = range(12, (i) => 0.01 * 1.6 ** i);
  const worst = (x) => 0.031 + 0.05 * Math.sqrt(x);
  return {
    kind: 'lines',
    x: { title: 'radius', unit: '', log: true },
    y: { title: 'expected shortfall', unit: '%', log: false },
    series: [
      { name: 'worst case', points: xs.map((x) => [x, 100 * worst(x)]), marks: true },
      { name: 'best case', points: xs.map((x) => [x, 100 * (0.031 - 0.006 * Math.sqrt(x))]), marks: true },
    ],
    bands: [{
      name: 'between the bounds',
      low: xs.map((x) => [x, 100 * (0.031 - 0.006 * Math.sqrt(x))]),
      high: xs.map((x) => [x, 100 * worst(x)]),
    }],
  };
}

function clients() {
  return {
    kind: 'bars',
    categories: range(8, (i) => `client ${i}`),
    value: { title: 'time', unit: 's', log: false },
    series: [
      { name: 'computing', values: [0.021, 0.024, 0.047, 0.022, 0.02, 0.025, 0.023, 0.021] },
      { name: 'sending', values: [0.004, 0.005, 0.004, 0.006, 0.005, 0.004, 0.005, 0.004] },
      { name: 'waiting', values: [0.027, 0.022, 0.0, 0.024, 0.027, 0.023, 0.024, 0.027] },
    ],
    stacked: true,
    horizontal: true,
    highlight: [2],
  };
}

function traffic() {
  return {
    kind: 'bars',
    categories: ['all to all', 'star', 'ring', 'tree', 'gossip', 'one server'],
    value: { title: 'bytes sent', unit: 'B', log: true },
    series: [{ name: 'predicted', values: [5.1e8, 8.3e7, 4.2e6, 2.9e7, 6.4e5, 1.1e4] },
      { name: 'measured', values: [5.3e8, 8.4e7, 4.1e6, 3.3e7, 7.7e5, 1.2e4] }],
    stacked: false,
    horizontal: false,
  };
}

function memory() {
  return {
    kind: 'bars',
    categories: ['dense kernel', 'low rank', 'streamed'],
    value: { title: 'memory', unit: 'B', log: false },
    series: [{ name: 'peak', values: [32.4e6, 4.8e6, 0.9e6] }],
    stacked: false,
    horizontal: true,
  };
}

/// Standing and lying: the names of the axis of categories and of rules have other places.
function delays(horizontal) {
  return {
    kind: 'bars',
    categories: ['0', '1', '2', '3', 'more'],
    category: { title: 'staleness in iterations' },
    value: { title: 'iterations until converged, relative to synchronous', unit: '', log: false },
    series: [{ name: 'measured', values: [1, 1.08, 1.22, 1.47, 2.1] }],
    rules: [{ value: 1, name: 'as predicted' }, { value: 1.5, name: 'worth it up to here' }],
    stacked: false,
    horizontal,
  };
}

function histogram() {
  const counts = (mean, deviation, total) => range(40, (i) => {
    const x = -4 + (i + 0.5) * 0.2;
    return Math.round((total * 0.2 * Math.exp(-(((x - mean) / deviation) ** 2) / 2)) / (deviation * 2.5066));
  });
  return {
    kind: 'histogram',
    x: { title: 'return', unit: '%' },
    y: { title: 'days', unit: '', log: false },
    first: -4,
    last: 4,
    series: [{ name: 'before', values: counts(0.1, 0.8, 2500) }, { name: 'after', values: counts(-0.5, 1.2, 2500) }],
  };
}

function plan() {
  const [rows, columns] = [48, 64];
  const value = (row, column) => Math.exp(-(((column / columns - 0.08 - 0.8 * (row / rows) ** 1.6) * 9) ** 2)) * 4e-6;
  return {
    kind: 'heatmap',
    x: { title: 'column' },
    y: { title: 'row' },
    value: { title: 'mass', unit: '' },
    rows, columns,
    row_step: 32,
    column_step: 32,
    values: range(rows * columns, (i) => value(Math.floor(i / columns), i % columns)),
    log: false,
  };
}

function costs() {
  const side = 24;
  return {
    ...plan(),
    value: { title: 'time', unit: 's' },
    rows: side, columns: side, row_step: 1, column_step: 1,
    values: range(side * side, (i) => (i % 25 === 0 ? 0 : 1e-6 * 10 ** (Math.hypot(i % side, 1.4 * (i / side)) / 10))),
    log: true,
  };
}

function prediction() {
  const normal = normalFrom(5);
  const points = (count, error) => range(count, (i) => {
    const measured = 2e-4 * 10 ** ((4 * i) / count);
    return [measured, measured * Math.exp(error * normal())];
  });
  return {
    kind: 'points',
    x: { title: 'measured', unit: 's', log: true },
    y: { title: 'predicted', unit: 's', log: true },
    series: [{ name: 'one machine', points: points(40, 0.15) }, { name: 'many machines', points: points(25, 0.4) }],
    diagonal: true,
  };
}

function flow() {
  const normal = normalFrom(9);
  const uniform = numbersFrom(3);
  const source = range(2000, () => [0.55 * normal(), 0.55 * normal()]);
  const ring = (angle) => {
    const radius = 1.7 + 0.18 * normal();
    return [3 + radius * Math.cos(angle), 0.4 + radius * Math.sin(angle)];
  };
  const moved = source.map(([x, y]) => ring(Math.atan2(y, x)));
  return { kind: 'flow', source, moved, target: range(1200, () => ring(2 * Math.PI * uniform())) };
}

/// Charts with hardly anything to draw, or with a lot.
function edgeCharts() {
  const axis = (title, log = false, unit = '') => ({ title, unit, log });
  const lines = (points, y = axis('value')) => (
    { kind: 'lines', x: axis('time'), y, series: [{ name: 'only', points }] });
  const bars = (values, value = axis('value')) => (
    { kind: 'bars', categories: values.map((_, i) => `bar ${i}`), value, series: [{ name: 'only', values }] });
  const counts = (values, log) => (
    { kind: 'histogram', x: axis('x'), y: axis('n', log), first: 0, last: 1, series: [{ name: 'only', values }] });
  const heat = (values, log) => (
    { kind: 'heatmap', x: { title: 'column' }, y: { title: 'row' }, value: { title: 'mass' }, rows: 1,
      columns: values.length, values, log });
  const cloud = (points, log) => (
    { kind: 'points', x: axis('x', log), y: axis('y', log), series: [{ name: 'only', points }], diagonal: true });
  const long = normalFrom(2);
  return {
    'no points': lines([]),
    'one point': lines([[1, 5]]),
    'gaps only': lines([[1, null], [2, 0], [3, -1]], axis('value', true)),
    'equal values': lines([[1, 3], [2, 3], [3, 3]]),
    'equal values, logarithmic': lines([[1, 3e-7], [2, 3e-7]], axis('value', true)),
    'less than a decade': lines([[1, 2.1], [2, 3.4], [3, 7.9]], axis('value', true, 's')),
    'three hundred decades': lines([[1, 1e-300], [2, 1], [3, 1e10]], axis('value', true)),
    'huge values': lines([[1e9, 1.5e12], [2e9, 2.5e12], [3e9, -1e12]]),
    'tiny differences': lines([[1, 1.0000001], [2, 1.0000002], [3, 1.0000004]]),
    'many points': lines(range(20000, (i) => [i, Math.exp(-i / 4000) * (1 + 0.1 * long())]), axis('value', true)),
    'lonely points': lines([[1, 2], [2, null], [3, 5], [4, null], [5, 4], [6, 4.5]]),
    'one bar': bars([3]),
    'no bars': bars([]),
    'bars below zero': bars([3, -2, 0, null]),
    'logarithmic bars with nothing': bars([0, 0, 1e-6], axis('value', true, 's')),
    'many bars': { ...bars(range(64, (i) => 1 + (i % 7))), horizontal: true, highlight: [63] },
    'many standing bars': bars(range(40, (i) => 1 + (i % 7))),
    'rules beyond the bars': { ...bars([1, 2], axis('value', true)), rules: [{ value: 900, name: 'far above' },
      { value: 0, name: 'not on this axis' }], horizontal: true },
    'a rule below zero': { ...bars([1, 2]), rules: [{ value: -3, name: 'far below' }], category: { title: '' } },
    'empty histogram': counts([0, 0], false),
    'logarithmic histogram': counts([0, 1, 100, 10000, 3], true),
    'one cell': heat([1], false),
    'zeros': heat([0, 0, 0], false),
    'zeros, logarithmic': heat([0, 0, 0], true),
    'no cloud': cloud([], false),
    'one point of a cloud': cloud([[2, 3]], true),
    'no flow': { kind: 'flow', source: [], moved: [], target: [] },
    'one moves': { kind: 'flow', source: [[0, 0]], moved: [[1, 0]], target: [[1, 0]] },
  };
}

export function edgePage() {
  const charts = edgeCharts();
  const figures = Object.keys(charts).map((name) => figureHtml(name, name, bareTable));
  const main = `<section id="edges"><h2>Edges</h2>${figures.join('\n')}</section>`;
  return pageHtml({ title: 'What data can also be', parts: [['edges', 'Edges']], charts, main });
}

/// Every string of a description, replaced by something that is no good.
function madeHostile(spec) {
  let count = 0;
  const bad = () => HOSTILE[count++ % HOSTILE.length];
  const replaceIn = (node) => {
    for (const [key, value] of Object.entries(node)) {
      if (key === 'kind' || key === 'unit') continue;
      if (typeof value === 'string') node[key] = bad();
      else if (value && typeof value === 'object') replaceIn(value);
    }
    return node;
  };
  return replaceIn(structuredClone(spec));
}

function numberCell(value) {
  return `<td class="number">${value === null ? '–' : Number(value.toPrecision(4)).toLocaleString('en')}</td>`;
}

/// Columns and rows of the table below a chart; a few are enough for a sample.
function tableOf(spec) {
  const limit = 30;
  if (spec.kind === 'bars') {
    return [['name', ...spec.series.map((series) => series.name)],
      spec.categories.map((name, i) => [name, ...spec.series.map((series) => series.values[i])])];
  }
  if (spec.kind === 'heatmap') return [['row', 'column', 'mass'], spec.values.slice(0, limit).map((v, i) => [0, i, v])];
  if (spec.kind === 'flow') {
    return [['x', 'y', 'moved x', 'moved y'], spec.source.slice(0, limit).map((p, i) => [...p, ...spec.moved[i]])];
  }
  if (spec.kind === 'histogram') {
    return [['bin', ...spec.series.map((series) => series.name)],
      spec.series[0].values.map((_, i) => [i, ...spec.series.map((series) => series.values[i])])];
  }
  const rows = spec.series.flatMap((series) => series.points.map((point) => [series.name, ...point]));
  return [['series', spec.x.title, spec.y.title], rows.slice(0, limit)];
}

const bareTable = { kind: 'bars', categories: ['none'], series: [] };

function cellOf(value, column) {
  if (typeof value !== 'string') return numberCell(value);
  return column === 0 ? `<th scope="row">${escaped(value)}</th>` : `<td>${escaped(value)}</td>`;
}

function tableHtml(spec) {
  const [head, rows] = tableOf(spec);
  const numeric = (column) => typeof rows[0][column] !== 'string';
  const headCell = (name, i) => `<th scope="col"${numeric(i) ? ' class="number"' : ''}>${escaped(name)}</th>`;
  return `<table><thead><tr>${head.map(headCell).join('')}</tr></thead><tbody>${
    rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`).join('')}</tbody></table>`;
}

function figureHtml(id, caption, spec) {
  return `<figure class="chart"><figcaption>${escaped(caption)}</figcaption>
<div class="plot" role="img" aria-label="${escaped(caption)}. The table below has the numbers."
 data-chart="${escaped(id)}"></div>
<details><summary>Data</summary><div class="scroll" tabindex="0" role="region" aria-label="Data: ${escaped(caption)}">${
    tableHtml(spec)}</div></details></figure>`;
}

const FACTS = [
  ['Rows', '2,000'], ['Columns', '2,000'], ['Regularisation', '0.01'], ['Cost', 'squared Euclidean'],
  ['Method', 'log-domain Sinkhorn'], ['Clients', '8'], ['Topology', 'all to all'], ['Tolerance', '10⁻⁹'],
  ['Iterations', '1,190'], ['Time', '1.42 s'], ['Transport cost', '0.8127'], ['Record', 'runs/2024-05-01/solve.json'],
];

function sections() {
  return [
    ['convergence', 'How it converged', [
      ['convergence', 'Marginal error by iteration', convergence()]]],
    ['clients', 'Where the time went', [
      ['clients', 'Seconds by client; client 2 is the slowest', clients()],
      ['traffic', 'Bytes sent by topology', traffic()], ['memory', 'Memory by kernel', memory()],
      ['delays', 'Iterations by staleness', delays(false)], ['delays-lying', 'The same, lying', delays(true)]]],
    ['plan', 'The transport plan', [
      ['plan', 'Mass moved from rows to columns', plan()], ['costs', 'Time by block', costs()],
      ['flow', 'Points on their way', flow()]]],
    ['risk', 'Risk', [
      ['risk', 'Expected shortfall by radius', risk()], ['returns', 'Returns before and after', histogram()]]],
    ['model', 'Prediction against measurement', [['model', 'Seconds predicted and measured', prediction()]]],
  ];
}

function factsHtml(facts) {
  const rows = facts.map(([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(value)}</td></tr>`);
  return `<table class="facts"><caption>Problem and settings</caption><tbody>${rows.join('')}</tbody></table>`;
}

function overviewHtml(hostile) {
  const spoiled = ([name, value], i) => [HOSTILE[i % 5], HOSTILE[(i + 1) % 5] + value + name];
  const facts = hostile ? FACTS.map(spoiled) : FACTS;
  return `<section id="overview"><h2>What was solved</h2>
<p>Two clouds of 2,000 points each, held by eight clients that never show one another their points.</p>
<p class="status good">converged</p> <p class="status fair">one client was slow</p> <p class="status bad">one record is
damaged</p>${factsHtml(facts)}</section>`;
}

function sectionHtml([id, heading, figures]) {
  return `<section id="${id}"><h2>${escaped(heading)}</h2>
<p>What the pictures show, in a sentence or two, so that nobody has to guess what to look at.</p>
${figures.map((figure) => figureHtml(...figure)).join('\n')}</section>`;
}

// A page may run what it contains, and fetch nothing but the news of its own server.
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
  + "connect-src 'self'";

function headHtml(title) {
  return `<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}"><link rel="icon" href="data:,">
<title>${escaped(title)}</title><style>${readFileSync(join(web, 'page.css'), 'utf8')}</style></head>`;
}

export function pageHtml({ title, parts, charts = {}, main, live = '', withLibrary = true }) {
  const links = parts.map(([id, heading]) => `<li><a href="#${id}">${escaped(heading)}</a></li>`).join('');
  const libraryScript = withLibrary ? `<script>${readFileSync(library, 'utf8')}</script>` : '';
  return `<!doctype html><html lang="en">${headHtml(title)}
<body${live ? ` data-live="${escaped(live)}"` : ''}>
<header><h1>${escaped(title)}</h1>
<p class="lead">Eight clients, two clouds, one plan: what a run of fedsinkhorn did and how long it took.</p></header>
<nav aria-label="Sections"><ul>${links}</ul></nav>
<main>${main}</main>
<footer>Made by fedsinkhorn report from 3 records. Charts: Apache ECharts, Apache-2.0.</footer>
<script type="application/json" id="charts">${scriptJson(charts)}</script>
${libraryScript}<script>${pageScript()}</script></body></html>`;
}

export function samplePage({ hostile = false, withLibrary = true } = {}) {
  const parts = sections().map(([id, heading, figures]) => [id, hostile ? HOSTILE[1] : heading, figures.map(
    ([name, caption, spec]) => [name, hostile ? HOSTILE[0] + caption : caption, hostile ? madeHostile(spec) : spec])]);
  const charts = Object.fromEntries(parts.flatMap(([, , figures]) => figures.map(([name, , spec]) => [name, spec])));
  const note = hostile ? HOSTILE.join(' ') : 'runs/2024-05-01/broken.json was skipped: line 3 is not JSON';
  const notes = `<ul class="notes"><li>${escaped(note)}</li></ul>`;
  const main = [notes, overviewHtml(hostile), ...parts.map(sectionHtml)].join('\n');
  return pageHtml({ title: hostile ? HOSTILE[1] : 'Transport between two clouds', parts, charts, main, withLibrary });
}

/// A page that starts empty and is filled by its event stream.
export function livePage(address) {
  const spec = liveChart(2);
  const main = `<p id="live-status" role="status"></p>
<section id="progress"><h2>Progress</h2><div id="progress-facts"><p>nothing yet</p></div>
${figureHtml('error', 'Marginal error by iteration', spec)}</section>`;
  return pageHtml({ title: 'A run', parts: [['progress', 'Progress']], main, live: address });
}

export function liveChart(points) {
  return {
    kind: 'lines',
    x: { title: 'iteration', unit: '' },
    y: { title: 'L1 error', unit: '', log: true },
    series: [{ name: 'rows', points: range(points, (i) => [i, 10 ** (-i / 3)]), marks: true }],
  };
}

export function writeSamples(folder) {
  mkdirSync(folder, { recursive: true });
  const pages = {
    'sample.html': samplePage(),
    'hostile.html': samplePage({ hostile: true }),
    'bare.html': samplePage({ withLibrary: false }),
    'edges.html': edgePage(),
  };
  return Object.entries(pages).map(([name, html]) => {
    const path = join(folder, name);
    writeFileSync(path, html);
    return path;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const path of writeSamples(process.argv[2] || '.')) console.log(path);
}
