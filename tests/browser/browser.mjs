// The browser of the tests, the tally of what passed, and why a test cannot run here.
import { existsSync } from 'node:fs';

const CHROMIUM = process.env.CHROMIUM || '/usr/bin/chromium';
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export const SKIPPED = 77;

/// Ends the program with status 77 if there is nothing to test with.
export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(SKIPPED);
}

async function playwright() {
  try {
    return await import('playwright-core');
  } catch {
    return skip('playwright-core is missing; run "npm ci" in tests/browser');
  }
}

export async function openBrowser() {
  if (!existsSync(CHROMIUM)) skip(`${CHROMIUM} is missing; run "apt-get install chromium"`);
  const { chromium } = await playwright();
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

export class Tally {
  passed = 0;
  failed = 0;

  /// problems: what is wrong, in words; none: passed.
  report(name, problems) {
    if (problems.length === 0) {
      this.passed += 1;
      return;
    }
    this.failed += 1;
    console.log(`FAILED ${name}`);
    for (const problem of problems) console.log(`  ${problem}`);
  }

  /// Runs a check; whatever it throws is a problem too.
  async check(name, body) {
    try {
      this.report(name, (await body()) || []);
    } catch (error) {
      this.report(name, [String(error.stack || error)]);
    }
  }

  /// Prints the sum and ends the program.
  finish() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exit(this.failed > 0 || this.passed === 0 ? 1 : 0);
  }
}
