import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { BrowserStage } from './browser-stage.ts';
import { serveMain } from './main-process.ts';

/** Stops the service below a page, and resolves once the page reports it. Returns what starts it again and waits until the page has noticed. */
export async function stopBelow(
  t: TestContext,
  { server, data, url }: BrowserStage,
  page: Page,
): Promise<() => Promise<void>> {
  const notice = page.getByText('The service can’t be reached. Retrying every 2 seconds.');
  server.kill('SIGTERM');
  await server.ended;
  const stopped = performance.now();
  await notice.waitFor();
  t.diagnostic(`reported after ${Math.round(performance.now() - stopped)} ms (budget 2,000 ms)`);
  return async () => {
    await serveMain(t, data, { flags: ['--port', new URL(url).port] });
    await notice.waitFor({ state: 'detached' });
  };
}
