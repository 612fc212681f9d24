// What must hold for every report page, at the width of a desk and of a phone, light and dark. Each check returns what is wrong, in words.
import { createRequire } from 'node:module';
import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const DESK = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
// Every size and every theme once; EVERY_WINDOW=1: every pair of them, which takes twice the time.
const WINDOWS = [[DESK, 'light'], [PHONE, 'dark'],
  ...(process.env.EVERY_WINDOW ? [[DESK, 'dark'], [PHONE, 'light']] : [])];
const LARGEST_FILE = 3e6;
const SMALLEST_TEXT = 12;

const axePath = () => createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/// Gathers what a good page never does.
export function watch(page, address) {
  const problems = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`page error: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`a dialog opened: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url().split('#')[0];
    if (url !== address && !url.startsWith('data:')) problems.push(`request: ${url}`);
  });
  return problems;
}

async function sidewaysScrolling(page) {
  const { wide, room } = await page.evaluate(() => (
    { wide: document.documentElement.scrollWidth, room: window.innerWidth }));
  return wide > room ? [`the page is ${wide} px wide in a window of ${room}`] : [];
}

/// The charts without marks. A page without the chart library must show its tables instead.
async function emptyCharts(page) {
  return page.evaluate(() => {
    const marksIn = (plot) => plot.querySelectorAll('svg path, svg circle, svg rect').length;
    const plots = [...document.querySelectorAll('[data-chart]')];
    if (typeof window.echarts === 'undefined') {
      const closed = document.querySelectorAll('.chart details:not([open])').length;
      return closed ? [`${closed} tables are closed although there are no charts`] : [];
    }
    const sparse = plots.filter((plot) => marksIn(plot) < 3);
    const unnamed = plots.filter((plot) => !plot.getAttribute('aria-label'));
    const spoken = plots.filter((plot) => plot.querySelector('svg:not([aria-hidden="true"])'));
    return [...sparse.map((plot) => `${plot.dataset.chart}: only ${marksIn(plot)} marks`),
      ...unnamed.map((plot) => `${plot.dataset.chart}: no aria-label`),
      ...plots.filter((plot) => /NaN|Infinity|undefined/.test(plot.innerHTML))
        .map((plot) => `${plot.dataset.chart}: a number is missing`),
      ...spoken.map((plot) => `${plot.dataset.chart}: its SVG is not aria-hidden`)];
  });
}

/// Axis labels and the like that reach beyond their picture, or are too small to read.
async function badChartText(page) {
  return page.evaluate((smallest) => [...document.querySelectorAll('.plot svg')].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    const chart = svg.closest('[data-chart]').dataset.chart;
    return [...svg.querySelectorAll('text')].flatMap((text) => {
      const box = text.getBoundingClientRect();
      const problems = [];
      if (parseFloat(getComputedStyle(text).fontSize) < smallest) problems.push('too small');
      if (box.left < frame.left - 2 || box.right > frame.right + 2) problems.push('cut off at a side');
      if (box.top < frame.top - 2 || box.bottom > frame.bottom + 2) problems.push('cut off above or below');
      return problems.map((problem) => `${chart}: the text "${text.textContent.slice(0, 40)}" is ${problem}`);
    });
  }), SMALLEST_TEXT);
}

/// Headers stand above their columns: numbers and their header on the right.
async function misplacedHeaders(page) {
  return page.evaluate(() => [...document.querySelectorAll('table:not(.facts)')].flatMap((table) => {
    const isRight = (cell) => getComputedStyle(cell).textAlign === 'right';
    const row = table.querySelector('tbody tr');
    if (!row) return [];
    return [...table.querySelectorAll('thead th')]
      .filter((head, column) => isRight(row.children[column]) !== isRight(head))
      .map((head) => `the header "${head.textContent}" is not above its column`);
  }));
}

/// A table that is wider than its box shows that at the edge: a shadow that stays, and a cover that scrolls away.
async function hiddenScrolling(page) {
  return page.evaluate(() => [...document.querySelectorAll('.scroll')]
    .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
    .filter((box) => {
      const { backgroundImage, backgroundAttachment } = getComputedStyle(box);
      const isCovered = getComputedStyle(box.firstElementChild).backgroundColor !== 'rgba(0, 0, 0, 0)';
      return isCovered || !backgroundImage.includes('gradient') || !/local.*scroll/.test(backgroundAttachment);
    })
    .map((box) => `nothing shows that "${box.getAttribute('aria-label')}" scrolls`));
}

/// On a desk the plan fills its cards.
async function emptyCards(page) {
  return page.evaluate(() => [...document.querySelectorAll('#plan figure')]
    .filter((card) => card.querySelector('.plot svg'))
    .map((card) => [card, card.querySelector('.plot svg').getBoundingClientRect().width / card.clientWidth])
    .filter(([, share]) => share < 0.7)
    .map(([card, share]) => `${card.querySelector('figcaption').textContent}: fills ${Math.round(100 * share)} %`));
}

/// The elements that Tab does not reach. Tab is pressed as often as there are such elements, and some more.
async function unreachable(page) {
  const count = await page.evaluate(() => {
    const wanted = 'a[href], summary, input, button, .scroll';
    const shown = [...document.querySelectorAll(wanted)].filter((node) => node.checkVisibility());
    window.wantedByTab = new Set(shown);
    document.addEventListener('focusin', (event) => window.wantedByTab.delete(event.target));
    return shown.length;
  });
  for (let i = 0; i < count + 3; ++i) await page.keyboard.press('Tab');
  const missed = await page.evaluate(() => [...window.wantedByTab].map((node) => node.outerHTML.slice(0, 100)));
  return missed.map((node) => `Tab does not reach ${node}`);
}

async function axeViolations(page) {
  // evaluate, not a script element, which the page's own policy may forbid.
  await page.evaluate(readFileSync(axePath(), 'utf8'));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return grave.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `axe ${id}: ${node.html.slice(0, 120)}`));
}

async function openDetails(page) {
  await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true; });
}

async function checkInWindow(browser, path, size, theme, tally, screenshots) {
  const name = basename(path, '.html');
  const label = `${name} ${size.width} ${theme}`;
  const address = pathToFileURL(path).href;
  const context = await browser.newContext({ viewport: size, colorScheme: theme });
  const page = await context.newPage();
  const problems = watch(page, address);
  await page.goto(address);
  await page.waitForTimeout(200);
  const picture = `${name}-${size.width}-${theme}.png`;
  if (screenshots) await page.screenshot({ path: join(screenshots, picture), fullPage: true });
  await tally.check(`${label}: no sideways scrolling`, () => sidewaysScrolling(page));
  await tally.check(`${label}: charts are drawn`, () => emptyCharts(page));
  await tally.check(`${label}: text in charts`, () => badChartText(page));
  await tally.check(`${label}: the plan fills its cards`, () => emptyCards(page));
  await openDetails(page);
  await tally.check(`${label}: headers above their columns`, () => misplacedHeaders(page));
  await tally.check(`${label}: tables that scroll show it`, () => hiddenScrolling(page));
  await tally.check(`${label}: no sideways scrolling with open tables`, () => sidewaysScrolling(page));
  await tally.check(`${label}: everything can be reached by Tab`, () => unreachable(page));
  await tally.check(`${label}: axe`, () => axeViolations(page));
  tally.report(`${label}: errors, dialogs and requests`, problems);
  await context.close();
}

export async function checkPage(browser, path, tally, screenshots) {
  const bytes = statSync(path).size;
  tally.report(`${basename(path)}: file size`, bytes < LARGEST_FILE ? [] : [`${bytes} bytes`]);
  // At once, in windows of their own: most of the time is Chromium's, which then uses all cores.
  await Promise.all(WINDOWS.map(([size, theme]) => checkInWindow(browser, path, size, theme, tally, screenshots)));
}
