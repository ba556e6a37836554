/** A page that is open all day: what is left of a screen when one goes to the next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { startSignedInStage } from '../support/browser-stage.ts';
import { withoutChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { withNotes } from './note-table.ts';

const skip = withoutChromium;
const navigations = 200;
const navigationsBefore = 20;
const growthMax = 1.5;

/** Paths below `/_/`, and what shows that the screen is there. */
const screens: readonly (readonly [path: string, ready: string])[] = [
  ['overview', '.counts .count-number:not(:has(.placeholder))'],
  ['c/notes', '.cell[data-field="title"]'],
  ['c/notes?record=ID', '.drawer input'],
  ['c/notes?record=ID&view=json', '.drawer .json'],
  ['c/notes?record=ID&view=story', '.drawer .story-event'],
  ['c/notes?record=ID&view=relations', '.drawer'],
  ['c/notes/schema', 'main input'],
  ['c/notes/api', 'main pre'],
  ['new-collection', 'main input'],
  ['webhooks', '.empty, .table-link'],
  ['events', '.table-link'],
  ['deliveries', '.data-empty, .empty, .data-table'],
  ['diagram', 'main :text-is("accounts")'],
  ['rules', '.rules-grid'],
  ['logs', '.data-table'],
  ['settings/general', '.settings-form'],
  ['settings/mail', 'main form'],
  ['settings/keys', '.empty, .table-main'],
  ['settings/backups', 'main h2, main h1'],
  ['settings/audit', '.data-table'],
];

interface Usage {
  readonly heap: number;
  readonly nodes: number;
  readonly listeners: number;
}

async function usageOf(session: CDPSession): Promise<Usage> {
  // What was just let go may need a second round.
  for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  return { heap: usedSize, nodes, listeners: jsEventListeners };
}

/** Goes to a path as a link does: the router hears of each change of the address. */
async function goTo(page: Page, [path, ready]: (typeof screens)[number]): Promise<void> {
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(`/_/${path}`)})`);
  await page.locator(ready).first().waitFor();
}

test(
  `after ${navigations} screens a page takes at most ${growthMax} times what it took after ${navigationsBefore}`,
  { skip },
  async (t) => {
    const stage = await startSignedInStage(t);
    await withNotes(stage, 60);
    const [note] = (await stage.pb.collection('notes').getList(1, 1)).items;
    const page = await stage.openSignedIn('overview');
    await page.locator('.counts').waitFor();
    const session = await page.context().newCDPSession(page);
    let before: Usage | undefined;
    for (let count = 1; count <= navigations; count += 1) {
      const [path, ready] = screens[count % screens.length] ?? ['overview', 'main'];
      await goTo(page, [path.replace('ID', note?.id ?? ''), ready]);
      if (count === navigationsBefore) before = await usageOf(session);
    }
    assert.ok(before !== undefined);
    const first = before;
    // What is being asked for when one looks counts, too: it is over in a moment.
    const last = await eventually(
      'no more is kept',
      async () => {
        const usage = await usageOf(session);
        const names = ['heap', 'nodes', 'listeners'] as const;
        if (names.some((name) => usage[name] > growthMax * first[name]))
          throw new Error(JSON.stringify({ first, usage }));
        return usage;
      },
      5_000,
    );
    t.diagnostic(JSON.stringify({ first, last }));
  },
);
