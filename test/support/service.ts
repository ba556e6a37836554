import type { TestContext } from 'node:test';
import { startApp, type App, type AppParts } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import type { Logger, LogMembers } from '../../src/base/logger.ts';
import type { Flags } from '../../src/config/config.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { atEnd } from './at-end.ts';
import { Canaries } from './canaries.ts';
import { noteAnswers } from './note-answers.ts';
import { checkAnswer } from './check-answer.ts';
import { issueSuperuserToken } from './issue-superuser-token.ts';
import { quickPasswords } from './quick-passwords.ts';
import { renewTokenSecrets } from './renew-token-secrets.ts';
import { copyFirstStart, superuser } from './copy-first-start.ts';
import { onSlug } from './on-slug.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { masterKey, testConfig } from './test-config.ts';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly members: LogMembers;
}

/** A service in this process, on a free loopback port, over a data directory of its own. */
export interface TestService {
  readonly app: App;
  readonly url: string;
  readonly data: string;
  readonly superuser: { readonly email: string; readonly password: string; token: string };
  /** Everything the service has logged. Tests look here for expected errors, or assert that there are none. */
  readonly log: readonly LogLine[];
  /** Requests a path. `body` is sent as JSON; `token: true` is the superuser's. Fails if spec/openapi.json does not describe the answer. */
  request(path: string, options?: TestRequest): Promise<TestAnswer>;
  /** Runs `work` on an instance directly, without HTTP. */
  withInstance<Result>(slug: string, work: (instance: Instance) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

export interface TestRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: true | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed text, or undefined when it is no JSON. Typed loosely: tests look into it. */
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any
}

export interface TestServiceOptions {
  readonly flags?: Flags;
  readonly parts?: AppParts;
  /** An existing data directory, for tests that start a service again. */
  readonly data?: string;
}

/** Starts a service that is stopped, and its directory removed, when the test ends. Its superuser has a token without having signed in. */
export async function startService(t: TestContext, options: TestServiceOptions = {}): Promise<TestService> {
  const data = options.data ?? temporaryFolder(t);
  if (options.data === undefined) await copyFirstStart(data, options.parts?.clock);
  const log: LogLine[] = [];
  const config = await testConfig(data, options.flags);
  const app = await startApp(config, {
    logger: recordingLogger(log),
    passwords: quickPasswords,
    ...options.parts,
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= app.stop());
  const canaries = new Canaries();
  noteAnswers(t, Number(new URL(app.url).port), (where, text) => canaries.note(where, text));
  atEnd(t, async () => {
    try {
      // A test that has stopped the service itself has also closed the databases to search.
      if (stopping === undefined) await canaries.search(app, log, masterKey);
    } finally {
      await stop();
    }
  });
  const { email, password } = superuser;
  const token = await onSlug(app.data, 'default', async (instance) => {
    if (options.data === undefined) await renewTokenSecrets(instance);
    // In an existing directory, an earlier run of the test may have changed the superuser.
    else await upsertSuperuser(instance, email, password);
    return issueSuperuserToken(instance, email);
  });
  const request = (path: string, asked: TestRequest = {}): Promise<TestAnswer> =>
    send(app.url + path, asked, { superuserToken: service.superuser.token, canaries });
  const service = {
    app,
    url: app.url,
    data,
    superuser: { email, password, token },
    log,
    request,
    withInstance: <Result>(slug: string, work: (instance: Instance) => Promise<Result>) =>
      onSlug(app.data, slug, work),
    stop,
  };
  return service;
}

function recordingLogger(log: LogLine[]): Logger {
  const at =
    (level: string) =>
    (message: string, members: LogMembers = {}) =>
      void log.push({ level, message, members });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

interface Sending {
  readonly superuserToken: string;
  readonly canaries: Canaries;
}

async function send(
  url: string,
  asked: TestRequest,
  { superuserToken, canaries }: Sending,
): Promise<TestAnswer> {
  const headers: Record<string, string> = { ...asked.headers };
  if (asked.token !== undefined)
    headers['authorization'] = asked.token === true ? superuserToken : asked.token;
  if (asked.body !== undefined) headers['content-type'] ??= 'application/json';
  const body = typeof asked.body === 'string' ? asked.body : JSON.stringify(asked.body);
  const response = await fetch(url, {
    method: asked.method ?? 'GET',
    headers,
    ...(asked.body === undefined ? {} : { body }),
  });
  const type = response.headers.get('content-type') ?? '';
  const isEndless = type === 'text/event-stream';
  if (isEndless) await response.body?.cancel();
  const text = isEndless ? '' : await response.text();
  const json: unknown = text !== '' && type.startsWith('application/json') ? JSON.parse(text) : undefined;
  const where = `${asked.method ?? 'GET'} ${new URL(url).pathname}`;
  canaries.note(where, JSON.stringify([...response.headers]));
  if (!isEndless)
    checkAnswer(
      { method: asked.method ?? 'GET', url, body: body ?? '' },
      { status: response.status, text, json },
    );
  return { status: response.status, headers: response.headers, text, json };
}
