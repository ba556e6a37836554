import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import PocketBase from 'pocketbase';
import { buildDashboard } from './build-dashboard.ts';
import { openChromium } from './chromium.ts';
import { type MainProcess, serveMain } from './main-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const account = { email: 'ada@example.com', password: 'correct horse battery' };

/** A real server over an empty directory, and a browser that looks at its dashboard. */
export interface BrowserStage {
  readonly url: string;
  /** Of the server's directory. */
  readonly data: string;
  readonly server: MainProcess;
  /** Where the first superuser is made; undefined where `signedIn` has made one. */
  readonly setupLink: string;
  /** The official SDK; it is a superuser where the stage is signed in. */
  readonly pb: PocketBase;
  /** Opens a page. What is wrong in it fails the test when that ends. */
  open(options?: PageOptions): Promise<Page>;
  /** A script that signs a page in before it begins. */
  signingIn(): string;
  /** Opens a page that is signed in already, at a path below `/_/`. */
  openSignedIn(path?: string, options?: PageOptions): Promise<Page>;
}

export interface PageOptions extends BrowserContextOptions {
  /** The statuses of refusals that this test provokes: Chromium reports each as an error of the page. */
  readonly refusals?: readonly number[];
  /** Where the page is, if not at the server itself: at a proxy in front of it. */
  readonly origin?: string;
  /** The origin of a site that has the dashboard in a frame. */
  readonly embedder?: string;
  /** The test stops the server: that a connection fails is no error of the page. */
  readonly hasOutage?: boolean;
  /** The test does what the policy of the page forbids: reports of that are no error of the page. */
  readonly breaksPolicy?: boolean;
}

export async function startStage(t: TestContext): Promise<BrowserStage> {
  buildDashboard();
  // First, as what is to be done after a test is done in the order of its registration: a server that goes away is an error of a page.
  const pages = watchPages(t);
  const data = temporaryFolder(t);
  // A busy machine takes longer for large tables than a service in production should.
  const { url, process: server } = await serveMain(t, data, { flags: ['--query-timeout', '10'] });
  const { msg } = await server.waitForLog(/in a browser/);
  const [setupLink = ''] = /http\S+#\S+/.exec(String(msg)) ?? [];
  const pb = new PocketBase(url);
  pb.autoCancellation(false);
  const open = (options: PageOptions = {}): Promise<Page> => pages.open(url, options);
  const signingIn = (): string => {
    const session = JSON.stringify({ token: pb.authStore.token, record: pb.authStore.record });
    // Once, as a test may sign out.
    return `if (sessionStorage.getItem('begun') === null) {
      sessionStorage.setItem('begun', 'yes');
      localStorage.setItem('chancery:/_/:session', ${JSON.stringify(session)});
    }`;
  };
  const openSignedIn = async (path = '', options: PageOptions = {}): Promise<Page> => {
    const page = await open(options);
    await page.addInitScript(signingIn());
    await page.goto(`${url}/_/${path}`);
    return page;
  };
  return { url, data, server, setupLink, pb, open, openSignedIn, signingIn };
}

/** The same with a superuser, made without the browser. */
export async function startSignedInStage(t: TestContext): Promise<BrowserStage> {
  const stage = await startStage(t);
  const [, token = ''] = stage.setupLink.split('#');
  const { email, password } = account;
  await stage.pb.send('/api/setup', {
    method: 'POST',
    body: { token, email, password, passwordConfirm: password },
  });
  await stage.pb.collection('_superusers').authWithPassword(email, password);
  return stage;
}

/** Opens pages, and fails the test with what was wrong in any of them. */
function watchPages(t: TestContext) {
  const problems: string[] = [];
  const contexts: BrowserContext[] = [];
  t.after(async () => {
    for (const context of contexts) {
      if (!t.passed) for (const page of context.pages()) t.diagnostic(await describePage(page));
      await context.close();
    }
    // Beside what has failed, this would not be reported.
    if (!t.passed) for (const problem of problems) t.diagnostic(problem);
    assert.deepEqual(problems, []);
  });
  return {
    open: async (
      url: string,
      {
        refusals = [],
        hasOutage = false,
        breaksPolicy = false,
        origin = url,
        embedder,
        ...options
      }: PageOptions,
    ): Promise<Page> => {
      const browser = await openChromium();
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      contexts.push(context);
      const page = await context.newPage();
      const origins = [origin, ...(embedder === undefined ? [] : [embedder])];
      await watchPage(page, { origins, refusals, hasOutage, breaksPolicy, problems });
      return page;
    },
  };
}

/** Says where a page is, and what it shows: a test that has waited in vain knows only what was not there. */
async function describePage(page: Page): Promise<string> {
  const text = await page.evaluate<string>('document.body.innerText').catch(String);
  return `${page.url()} shows: ${text.replaceAll(/\s+/g, ' ').slice(0, 600)}`;
}

interface Watch {
  readonly origins: readonly string[];
  readonly refusals: readonly number[];
  readonly hasOutage: boolean;
  readonly breaksPolicy: boolean;
  readonly problems: string[];
}

async function watchPage(
  page: Page,
  { origins, refusals, hasOutage, breaksPolicy, problems }: Watch,
): Promise<void> {
  page.on('console', (message) => {
    const text = message.text();
    const [, status] = /the server responded with a status of (\d+)/.exec(text) ?? [];
    const isRefusal = status !== undefined && refusals.includes(Number(status));
    const isReport = /^policy: |Trusted|trusted/.test(text);
    const isExpected = isRefusal || (hasOutage && text.includes('net::ERR_')) || (breaksPolicy && isReport);
    if ((message.type() === 'error' || message.type() === 'warning') && !isExpected)
      problems.push(`console: ${text} (${message.location().url})`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const isOwn =
      origins.some((origin) => request.url().startsWith(`${origin}/`)) ||
      /^(?:data|blob):/.test(request.url());
    if (!isOwn) problems.push(`request to another origin: ${request.url()}`);
  });
  // Reports of the policy of the page come as errors of the console, too, but not all of them.
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error('policy: ' + violatedDirective + ' ' + blockedURI));`,
  );
}
