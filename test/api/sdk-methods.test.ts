import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import PocketBase from 'pocketbase';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService } from '../support/service.ts';

/** What stands for a method that no test of ours calls. */
type Reason =
  /** It asks nothing of a server. */
  | { readonly kind: 'client'; readonly why: string }
  /** It asks for a route that we do not have, now or ever; `ask` shows that it is refused. */
  | {
      readonly kind: 'not served';
      readonly why: string;
      readonly ask?: (pb: PocketBase) => Promise<unknown>;
    };

/** Where the calls of a service's methods are looked for, and the methods that are not called there. */
interface Coverage {
  readonly of: (pb: PocketBase) => object;
  readonly file: string;
  /** What stands before the dot of a call there. */
  readonly calledOn?: string;
  readonly others: Readonly<Record<string, Reason>>;
}

const internal: Reason = { kind: 'client', why: 'internal to the SDK' };
const noRequest: Reason = { kind: 'client', why: 'builds or keeps something, without a request' };
const oldName: Reason = { kind: 'client', why: 'an old name of another method' };

function notServed(why: string, ask: (pb: PocketBase) => Promise<unknown>): Reason {
  return { kind: 'not served', why, ask };
}

const outOfScope = 'out of scope (http-api A21)';

const services: Readonly<Record<string, Coverage>> = {
  client: {
    of: (pb) => pb,
    file: 'sdk-records.test.ts',
    calledOn: 'pb',
    others: {
      baseUrl: oldName,
      admins: oldName,
      getFileUrl: oldName,
      buildUrl: oldName,
      buildURL: noRequest,
      send: { kind: 'client', why: 'underneath all others; sdk-methods and start-stop tests call it' },
      initSendOptions: internal,
      getHeader: internal,
      createBatch: { kind: 'client', why: 'collects requests; batch-forms tests call it and send them' },
    },
  },
  collection: {
    of: (pb) => pb.collection('posts'),
    file: 'sdk-records.test.ts',
    calledOn: 'posts',
    others: {
      baseCrudPath: internal,
      baseCollectionPath: internal,
      isSuperusers: internal,
      authResponse: internal,
      decode: internal,
      _getFullList: internal,
      _replaceQueryParams: internal,
      subscribe: { kind: 'client', why: 'sdk-realtime.test.ts calls it' },
      unsubscribe: { kind: 'client', why: 'sdk-realtime.test.ts calls it' },
      authWithPassword: { kind: 'client', why: 'sdk-auth.test.ts calls it' },
      authRefresh: { kind: 'client', why: 'sdk-auth.test.ts calls it' },
      listAuthMethods: { kind: 'client', why: 'auth-records.test.ts calls it' },
      requestPasswordReset: { kind: 'client', why: 'account-mails.test.ts calls it' },
      confirmPasswordReset: { kind: 'client', why: 'account-mails.test.ts calls it' },
      requestVerification: { kind: 'client', why: 'account-mails.test.ts calls it' },
      confirmVerification: { kind: 'client', why: 'account-mails.test.ts calls it' },
      requestEmailChange: { kind: 'client', why: 'account-mails.test.ts calls it' },
      confirmEmailChange: { kind: 'client', why: 'account-mails.test.ts calls it' },
      requestOTP: { kind: 'client', why: 'one-time-passwords.test.ts calls it' },
      authWithOTP: { kind: 'client', why: 'one-time-passwords.test.ts calls it' },
      impersonate: { kind: 'client', why: 'auth-records.test.ts calls it' },
      authWithOAuth2: { kind: 'client', why: 'provider-popup.test.ts calls it' },
      authWithOAuth2Code: { kind: 'client', why: 'provider-popup.test.ts calls it' },
      listExternalAuths: { kind: 'client', why: 'sdk-auth.test.ts calls it' },
      unlinkExternalAuth: { kind: 'client', why: 'provider-popup.test.ts calls it' },
    },
  },
  collections: {
    of: (pb) => pb.collections,
    file: 'sdk-collections.test.ts',
    others: {
      baseCrudPath: internal,
      decode: internal,
      _getFullList: internal,
    },
  },
  health: { of: (pb) => pb.health, file: 'sdk-auth.test.ts', others: {} },
  authStore: {
    of: (pb) => pb.authStore,
    file: 'sdk-auth.test.ts',
    others: {
      model: oldName,
      isAdmin: oldName,
      isAuthRecord: oldName,
      record: noRequest,
      loadFromCookie: noRequest,
      exportToCookie: noRequest,
      triggerChange: internal,
      _storageGet: internal,
      _storageSet: internal,
      _storageRemove: internal,
      _bindStorageEvent: internal,
    },
  },
  files: {
    of: (pb) => pb.files,
    file: 'files-protected.test.ts',
    others: { getUrl: oldName },
  },
  logs: {
    of: (pb) => pb.logs,
    file: 'logs.test.ts',
    others: {},
  },
  settings: {
    of: (pb) => pb.settings,
    file: 'settings.test.ts',
    others: {},
  },
  backups: {
    of: (pb) => pb.backups,
    file: 'backups.test.ts',
    others: { getDownloadUrl: oldName },
  },
  crons: {
    of: (pb) => pb.crons,
    file: 'crons.test.ts',
    others: {},
  },
  sql: {
    of: (pb) => pb.sql,
    file: '',
    others: { run: notServed(outOfScope, (pb) => pb.sql.run('SELECT 1')) },
  },
};

describe('every method of the SDK', () => {
  test('belongs to a service that stands in the table', () => {
    const pb = new PocketBase('http://127.0.0.1:1');
    const found = Object.entries(pb).filter(([, value]) => isObject(value) && methodsOf(value).length > 0);
    const known = new Set([...Object.keys(services), 'realtime']);
    // What a subscription does is `subscribe` of a collection.
    assert.deepEqual(
      found.map(([name]) => name).filter((name) => !known.has(name)),
      [],
    );
  });

  for (const [name, { of, file, calledOn = name, others }] of Object.entries(services)) {
    test(`of ${name} is called by a test of ours or stands in the table with a reason, not both`, () => {
      const methods = methodsOf(of(new PocketBase('http://127.0.0.1:1')));
      const text = file === '' ? '' : readFileSync(new URL(file, import.meta.url), 'utf8');
      const isCalled = (method: string): boolean =>
        new RegExp(`(?:${calledOn})\\s*\\.${method}\\b`).test(text);
      const uncovered = methods.filter((method) => others[method] === undefined && !isCalled(method));
      assert.deepEqual(uncovered, [], 'neither called nor in the table');
      const stale = Object.keys(others).filter((method) => !methods.includes(method));
      assert.deepEqual(stale, [], 'in the table, but not in the SDK');
    });
  }
});

test('what the table calls not served is refused as an unknown path or method, until it is served', async (t) => {
  const service = await startService(t);
  const pb = await superuserSdk(service);
  pb.autoCancellation(false);
  await pb.collections.create({ name: 'posts', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  for (const [name, { others }] of Object.entries(services)) {
    for (const [method, reason] of Object.entries(others)) {
      if (reason.kind === 'client' || reason.ask === undefined) continue;
      const { status } = await refusalOf(reason.ask(pb));
      assert.ok(
        [404, 405].includes(status),
        `${name}.${method} answers ${status}: is it served now? Then test it.`,
      );
    }
  }
});

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Names on the prototypes, the constructors' aside. */
function methodsOf(object: object): readonly string[] {
  const names: string[] = [];
  let prototype: unknown = Object.getPrototypeOf(object);
  while (isObject(prototype) && prototype !== Object.prototype) {
    names.push(...Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor'));
    prototype = Object.getPrototypeOf(prototype);
  }
  return [...new Set(names)];
}
