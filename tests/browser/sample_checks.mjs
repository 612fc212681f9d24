// What holds for the pages of sample.mjs, whose charts and strings are known.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { watch } from './page_checks.mjs';

const textsOf = (page, chart) => page.evaluate((id) => (
  [...document.querySelectorAll(`[data-chart="${id}"] text`)].map((text) => text.textContent)), chart);

async function missingTexts(page, chart, wanted) {
  const texts = await textsOf(page, chart);
  const missing = wanted.filter((text) => !texts.includes(text));
  return missing.map((text) => `${chart} does not say "${text}" but ${texts.join(' | ')}`);
}

async function numbersAreReadable(page) {
  return [
    ...await missingTexts(page, 'convergence', ['10⁻¹⁰', 'tolerance: 10⁻⁹', 'iteration', '1,000']),
    ...await missingTexts(page, 'convergence', ['L1 error of the marginals', 'epsilon 0.01']),
    ...await missingTexts(page, 'clients', ['time (ms)', '40']),
    ...await missingTexts(page, 'traffic', ['100\u00a0kB', '10\u00a0MB', 'bytes sent']),
    ...await missingTexts(page, 'memory', ['memory (MB)', '900\u00a0kB']),
    ...await missingTexts(page, 'delays', ['staleness in iterations', 'as predicted: 1', 'worth it up to here: 1.5']),
    ...await missingTexts(page, 'delays-lying', ['staleness in iterations', 'as predicted: 1', '1.47']),
    ...await missingTexts(page, 'model', ['1\u00a0ms', 'measured']),
    ...await missingTexts(page, 'returns', ['return (%)', '−2']),
    ...await missingTexts(page, 'plan', ['1,000', 'row', 'column']),
  ];
}

/// Middles of the dashed lines and of the axis labels with the text, and how far the lines reach.
const rulesAndLabels = (page, chart, label) => page.evaluate(([id, wanted]) => {
  const boxOf = (node) => {
    const { x, y, width, height } = node.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2, width, height };
  };
  const plot = document.querySelector(`[data-chart="${id}"]`);
  const labels = [...plot.querySelectorAll('text')].filter((text) => text.textContent === wanted);
  return { rules: [...plot.querySelectorAll('path[stroke-dasharray]')].map(boxOf), labels: labels.map(boxOf) };
}, [chart, label]);

/// Rules cross the axis of values, at their values.
async function rulesStandAtTheirValues(page) {
  const problems = [];
  for (const [chart, across, along] of [['delays', 'y', 'width'], ['delays-lying', 'x', 'height']]) {
    for (const value of ['1.0', '1.5']) {
      const { rules, labels } = await rulesAndLabels(page, chart, value);
      const atValue = rules.filter((rule) => Math.abs(rule[across] - labels[0][across]) < 2 && rule[along] > 150);
      if (rules.length !== 2 || atValue.length !== 1) problems.push(`${chart}: no rule at ${value}`);
    }
  }
  return problems;
}

/// Moves the mouse over every chart; each must say something, as text.
async function tooltipsSpeak(page) {
  const problems = [];
  for (const plot of await page.$$('[data-chart]')) {
    await plot.scrollIntoViewIfNeeded();
    const chart = await plot.getAttribute('data-chart');
    const box = await plot.boundingBox();
    let said = false;
    for (let step = 1; step < 40 && !said; ++step) {
      const height = 0.15 + 0.7 * ((step * 0.31) % 1);
      await page.mouse.move(box.x + (box.width * step) / 40, box.y + box.height * height);
      await page.waitForTimeout(15);
      said = await plot.evaluate((node) => [...node.querySelectorAll('.tip')].some((tip) => tip.checkVisibility()));
    }
    if (!said) problems.push(`${chart}: no tooltip`);
  }
  return problems;
}

async function nothingIsInjected(page) {
  const problems = await tooltipsSpeak(page);
  const injected = await page.$$eval('img, [onerror], [onload], script:not([id])', (nodes) => (
    nodes.map((node) => node.outerHTML.slice(0, 80))));
  // The chart library and our own script.
  if (injected.length !== 2) problems.push(`elements were injected: ${injected.join(' | ')}`);
  const names = await page.$$eval('.legend button', (buttons) => buttons.map((button) => button.textContent));
  if (!names.includes('<script>alert(1)</script>')) problems.push('the legend does not show the name as it is');
  return problems;
}

/// In no order: that in which series were switched on does not matter.
const marksOf = (page, chart) => page.$$eval(`[data-chart="${chart}"] path`, (paths) => (
  paths.map((path) => path.getAttribute('d')).sort().join()));

async function legendToggles(page) {
  const figure = page.locator('figure', { has: page.locator('[data-chart="convergence"]') });
  const before = await marksOf(page, 'convergence');
  const button = figure.locator('.legend button').first();
  await button.focus();
  await page.keyboard.press('Enter');
  const without = await marksOf(page, 'convergence');
  const pressed = await button.getAttribute('aria-pressed');
  await page.keyboard.press('Enter');
  const again = await marksOf(page, 'convergence');
  const problems = [];
  if (without === before || pressed !== 'false') problems.push('a series could not be switched off');
  if (again !== before) problems.push('a series could not be switched on again');
  return problems;
}

/// Names of levels stand beside each other: one that would cover another is left out. The first level needs no line.
async function levelsAreMarked(page) {
  const texts = await textsOf(page, 'convergence');
  const lines = await page.$$eval('[data-chart="convergence"] path[stroke-dasharray]', (paths) => (
    paths.map((path) => path.getBoundingClientRect()).filter((box) => box.height > 150 && box.width < 3).length));
  const crowded = texts.filter((text) => ['epsilon 0.1', 'epsilon 0.001'].includes(text));
  return [...(lines === 2 ? [] : [`${lines} lines for two levels`]), ...crowded.map((text) => `${text} is shown`)];
}

/// What is aimed at must not fill the gaps in what moves, and the legend shows more than one of the colours.
async function targetsStayBehind(page) {
  const { moving, target, colors } = await page.evaluate(() => {
    const paths = [...document.querySelectorAll('[data-chart="flow"] path[fill="none"]')];
    const width = (path) => Number(path.getAttribute('stroke-width'));
    const swatches = document.querySelectorAll('figure:has([data-chart="flow"]) [data-key="moving"] circle');
    return { target: width(paths[0]), moving: Math.min(...paths.slice(1).map(width)),
      colors: new Set([...swatches].map((dot) => dot.getAttribute('fill'))).size };
  });
  return [...(target < 0.7 * moving ? [] : [`targets of ${target} px among points of ${moving} px`]),
    ...(colors > 1 ? [] : ['the legend has one colour for all moving points'])];
}

async function sliderMoves(page) {
  const slider = page.locator('figure:has([data-chart="flow"]) input[type=range]');
  const start = await marksOf(page, 'flow');
  if (await slider.inputValue() !== '0') return ['the points move by themselves'];
  await slider.focus();
  await page.keyboard.press('End');
  const end = await marksOf(page, 'flow');
  const problems = [];
  if (start === end) problems.push('the points did not move');
  const said = await slider.getAttribute('aria-valuetext');
  if (said !== '100 percent of the way') problems.push(`the slider says ${said}`);
  return problems;
}

async function playEnds(page) {
  const controls = page.locator('figure:has([data-chart="flow"]) .controls');
  await controls.locator('input').fill('0');
  await controls.locator('button').click();
  if (await controls.locator('button').textContent() !== 'Pause') return ['Play does not become Pause'];
  await page.waitForFunction(() => document.querySelector('.controls button').textContent === 'Play');
  const end = await controls.locator('input').inputValue();
  return end === '100' ? [] : [`it ends at ${end}`];
}

async function fewerMotionsStep(page) {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const controls = page.locator('figure:has([data-chart="flow"]) .controls');
  await controls.locator('input').fill('0');
  const seen = page.evaluate(() => new Promise((resolve) => {
    const values = new Set();
    const look = () => {
      values.add(document.querySelector('.controls input').value);
      if (values.has('100')) resolve([...values]);
      else setTimeout(look, 20);
    };
    look();
  }));
  await controls.locator('button').click();
  const values = await seen;
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  return values.length <= 5 ? [] : [`with reduced motion ${values.length} frames are shown`];
}

const inkOf = (page) => page.evaluate(() => (
  document.querySelector('[data-chart="convergence"] text').getAttribute('fill')));

/// Tries for some seconds: a busy machine draws late.
async function inkOnce(page, media, isExpected) {
  await page.emulateMedia(media);
  for (let i = 0; i < 50 && !isExpected(await inkOf(page)); ++i) await page.waitForTimeout(100);
  return inkOf(page);
}

async function themeFollows(page) {
  await page.emulateMedia({ colorScheme: 'light' });
  await page.waitForTimeout(100);
  const light = await inkOf(page);
  const dark = await inkOnce(page, { colorScheme: 'dark' }, (ink) => ink !== light);
  const printed = await inkOnce(page, { colorScheme: 'dark', media: 'print' }, (ink) => ink === light);
  const frames = await page.locator('[data-chart="flow"] .frames svg').count();
  await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
  const problems = [];
  if (light === dark) problems.push('the dark theme has the colours of the light one');
  if (printed !== light) problems.push(`printed in ${printed}, not in the light ${light}`);
  if (frames !== 3) problems.push(`${frames} printed frames of the moving points`);
  return problems;
}

async function resizes(page) {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(300);
  const wide = await page.$$eval('.plot svg', (pictures) => (
    pictures.filter((picture) => picture.getBoundingClientRect().right > innerWidth).length));
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.waitForTimeout(300);
  return wide ? [`${wide} charts stay wider than the window`] : [];
}

async function tablesWithoutScript(browser, path) {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(pathToFileURL(path).href);
  const shown = await page.locator('figure table').first().isVisible();
  const plots = await page.locator('.plot').first().isVisible();
  await page.close();
  return [...(shown ? [] : ['without JavaScript the tables are hidden']),
    ...(plots ? ['without JavaScript empty plots are shown'] : [])];
}

async function withPage(browser, path, body) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const address = pathToFileURL(path).href;
  const problems = watch(page, address);
  await page.goto(address);
  await page.waitForTimeout(200);
  await body(page);
  await page.close();
  return problems;
}

async function print(page, path) {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.pdf({ path, format: 'A4', preferCSSPageSize: true });
}

export async function checkSamples(browser, folder, tally, screenshots) {
  const checks = { numbersAreReadable, rulesStandAtTheirValues, tooltipsSpeak, legendToggles,
    levelsAreMarked, targetsStayBehind, sliderMoves, playEnds,
    fewerMotionsStep, themeFollows, resizes };
  const [sample, hostile] = [join(folder, 'sample.html'), join(folder, 'hostile.html')];
  await tally.check('sample: no errors while in use', () => withPage(browser, sample, async (page) => {
    for (const [name, body] of Object.entries(checks)) await tally.check(`sample: ${name}`, () => body(page));
    if (screenshots) await print(page, join(screenshots, 'sample.pdf'));
  }));
  await tally.check('hostile: no errors or dialogs', () => withPage(browser, hostile, async (page) => {
    await tally.check('hostile: nothing is injected', () => nothingIsInjected(page));
  }));
  await tally.check('sample: tables without JavaScript', () => tablesWithoutScript(browser, sample));
}
