import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Fails with what axe finds against WCAG 2.2 AA in the page as it is now. */
export async function assertAccessible(page: Page, where: string): Promise<void> {
  // Evaluated by the debugger, which the policy of the page does not concern.
  await page.evaluate(axe.source);
  // The page has axe now, which its types cannot say.
  const run = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) => violations)`;
  const violations = await page.evaluate<readonly Violation[]>(run);
  const told = violations.map(({ id, nodes }) => {
    const [node] = nodes;
    return `${where}: ${id} (${nodes.length}) ${node?.html ?? ''} ${node?.failureSummary ?? ''}`;
  });
  assert.deepEqual(told, []);
}
