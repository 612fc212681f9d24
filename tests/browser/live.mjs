// A live page: a server on 127.0.0.1 sends a page and then news of a run; the page must show them.
//   node live.mjs
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { openBrowser, skip, Tally } from './browser.mjs';
import { hasChartLibrary, liveChart, livePage } from './sample.mjs';

/// Serves the page and one event stream; send() puts a message into it.
class RunServer {
  listener = null;
  streams = 0;

  constructor() {
    this.server = createServer((request, response) => this.answer(request, response));
  }

  answer(request, response) {
    if (request.url.startsWith('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write('retry: 200\n\n');
      this.listener = response;
      this.streams += 1;
    } else {
      response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' });
      response.end(request.url === '/' ? livePage('events?token=abc') : '');
    }
  }

  async start() {
    await new Promise((ready) => { this.server.listen(0, '127.0.0.1', ready); });
    return `http://127.0.0.1:${this.server.address().port}/`;
  }

  send(message) {
    this.listener.write(`data: ${JSON.stringify(message)}\n\n`);
  }

  /// As if the program had been killed.
  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const news = (points, extra = {}) => ({
  charts: { error: liveChart(points) },
  parts: { 'progress-facts': `<p>iteration <b>${points}</b> &lt;of many&gt;</p>` },
  status: `iteration ${points}`,
  ...extra,
});

const statusOf = (page) => page.textContent('#live-status');
const lineOf = (page) => page.evaluate(() => (
  [...document.querySelectorAll('.plot svg path')].map((path) => path.getAttribute('d')).join('|')));

async function waitForStatus(page, text, milliseconds = 5000) {
  const reached = (wanted) => document.getElementById('live-status').textContent.includes(wanted);
  await page.waitForFunction(reached, text, { timeout: milliseconds });
}

async function withLivePage(browser, body) {
  const server = new RunServer();
  const address = await server.start();
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(`page error: ${error.message}`));
  try {
    await page.goto(address);
    while (!server.listener) await page.waitForTimeout(20);
    return [...errors, ...await body(page, server)];
  } finally {
    await page.close();
    server.stop();
  }
}

async function newsAreShown(page, server) {
  server.send(news(3));
  await waitForStatus(page, 'iteration 3');
  const before = await lineOf(page);
  server.send(news(30));
  await waitForStatus(page, 'iteration 30');
  const facts = await page.textContent('#progress-facts');
  const problems = [];
  if (!before || before === await lineOf(page)) problems.push('the chart did not change');
  if (facts !== 'iteration 30 <of many>') problems.push(`the part says "${facts}"`);
  return problems;
}

async function endIsSaid(page, server) {
  server.send(news(5, { status: 'converged', done: true }));
  await waitForStatus(page, 'finished');
  await page.waitForTimeout(600);
  const status = await statusOf(page);
  const problems = status === 'converged (finished)' ? [] : [`the status is "${status}"`];
  if (server.streams !== 1) problems.push('the page asked for the stream again after its end');
  return problems;
}

async function lossIsSaid(page, server) {
  server.send(news(5));
  await waitForStatus(page, 'iteration 5');
  server.stop();
  await waitForStatus(page, 'connection lost; the run may have ended');
  return [];
}

async function reconnects(page, server) {
  server.send(news(5));
  await waitForStatus(page, 'iteration 5');
  server.listener.destroy();
  await waitForStatus(page, 'connection lost');
  await waitForStatus(page, 'iteration 5');
  server.send(news(6));
  await waitForStatus(page, 'iteration 6');
  return [];
}

/// A reader who has chosen a series and moved on by keyboard keeps both while news arrive.
async function choicesStay(page, server) {
  const two = (points) => {
    const chart = liveChart(points);
    chart.series.push({ name: 'columns', points: chart.series[0].points.map(([x, y]) => [x, y / 2]) });
    return { charts: { error: chart }, status: `iteration ${points}` };
  };
  server.send(two(5));
  await waitForStatus(page, 'iteration 5');
  await page.click('.legend button:nth-child(2)');
  server.send(two(9));
  await waitForStatus(page, 'iteration 9');
  const button = await page.evaluate(() => [document.activeElement.textContent,
    document.activeElement.getAttribute('aria-pressed')].join(' '));
  return button === 'columns false' ? [] : [`the focus is on "${button}"`];
}

export async function checkLivePages(browser, tally) {
  const checks = { newsAreShown, endIsSaid, lossIsSaid, reconnects, choicesStay };
  for (const [name, body] of Object.entries(checks)) {
    await tally.check(`live: ${name}`, () => withLivePage(browser, body));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!hasChartLibrary()) skip('this build has no charts');
  const browser = await openBrowser();
  const tally = new Tally();
  await checkLivePages(browser, tally);
  await browser.close();
  tally.finish();
}
