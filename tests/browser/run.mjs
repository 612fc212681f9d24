// Opens report pages in Chromium and checks that they draw, fit, print and can be used by everybody.
//   node run.mjs [PAGE.html ...] [--samples] [--screenshots FOLDER]
// Without a page, or with --samples: pages made by sample.mjs, and what only holds for them; live.mjs too.
// Exit status: 0 all passed, 1 something failed, 77 skipped: no browser or no node modules.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBrowser, skip, Tally } from './browser.mjs';
import { checkLivePages } from './live.mjs';
import { checkPage } from './page_checks.mjs';
import { hasChartLibrary, writeSamples } from './sample.mjs';
import { checkSamples } from './sample_checks.mjs';

function readArguments(words) {
  const wanted = { pages: [], samples: false, screenshots: null };
  for (let i = 0; i < words.length; ++i) {
    if (words[i] === '--samples') wanted.samples = true;
    else if (words[i] === '--screenshots') wanted.screenshots = words[++i];
    else wanted.pages.push(words[i]);
  }
  if (wanted.pages.length === 0) wanted.samples = true;
  return wanted;
}

async function checkOwnPages(browser, folder, tally, screenshots) {
  const paths = writeSamples(folder);
  for (const path of paths) await checkPage(browser, path, tally, screenshots);
  await checkSamples(browser, folder, tally, screenshots);
  await checkLivePages(browser, tally);
}

async function main() {
  const { pages, samples, screenshots } = readArguments(process.argv.slice(2));
  if (samples && !hasChartLibrary()) skip('this build has no charts');
  if (screenshots) mkdirSync(screenshots, { recursive: true });
  const browser = await openBrowser();
  const folder = mkdtempSync(join(tmpdir(), 'fedsinkhorn-pages-'));
  const tally = new Tally();
  try {
    for (const path of pages) await checkPage(browser, path, tally, screenshots);
    if (samples) await checkOwnPages(browser, folder, tally, screenshots);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
  tally.finish();
}

await main();
