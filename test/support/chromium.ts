import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after } from 'node:test';
import { type Browser, chromium } from 'playwright-core';

/** The Chromium of this machine, or undefined where none is on its path. */
export const chromiumPath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  .find(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why a test of the dashboard is skipped; false where it runs. */
export const withoutChromium =
  chromiumPath === undefined && 'no Chromium is on the path (apt-get install chromium)';

let browser: Promise<Browser> | undefined;

/** Returns the one browser of this process, which has a context of its own for each test. */
export async function openChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('expected a Chromium on the path');
  // As root, it has no sandbox; it sees nothing but our own pages.
  browser ??= chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  return browser;
}

after(async () => (await browser)?.close());
