import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../support/cpu-time.ts';
import { startService, type TestService } from '../support/service.ts';

/** What the longest turn of the main thread may take (processor time). */
const turnMs = 50;
/** All header lines together may have 16 KiB. */
const lineLength = 15_000;

/** Rules that a guest meets: one that admits, and one that is asked of all of the request and refuses. */
const rules = [
  '',
  "@request.query.key = 'x' || @request.body.f:length = 77 || @request.headers.x_key:lower = 'x'",
];

const types: Readonly<Record<string, object>> = {
  text: {},
  number: {},
  bool: {},
  email: {},
  url: {},
  date: {},
  json: {},
  editor: {},
  geoPoint: {},
  select: { values: ['a', 'b'], maxSelect: 2 },
  relation: { collectionId: 'users', maxSelect: 1_000_000 },
  file: { maxSelect: 2 },
};

async function startTypes(t: Parameters<typeof startService>[0]): Promise<TestService> {
  const service = await startService(t);
  const users = await service.request('/api/collections/users', { token: true });
  for (const [index, rule] of rules.entries())
    for (const [type, options] of Object.entries(types)) {
      const field = {
        name: 'f',
        type,
        ...options,
        ...(type === 'relation' && { collectionId: users.json.id }),
      };
      const body = {
        name: `${type}${index}`,
        listRule: rule,
        viewRule: rule,
        createRule: rule,
        fields: [field],
      };
      const made = await service.request('/api/collections', { method: 'POST', token: true, body });
      assert.equal(made.status, 200, made.text);
    }
  return service;
}

/** Sends a request as a guest, whose answer must come without an error of ours, in linear time. */
async function assertAnswered(url: string, options: RequestInit, length: number): Promise<void> {
  const what = `${options.method ?? 'GET'} ${url.slice(0, 150)} ${JSON.stringify(options).slice(0, 100)}`;
  await assertLinear(what, { length, restMs: turnMs }, async () => {
    const answer = await fetch(url, options);
    await answer.arrayBuffer();
    assert.ok(answer.status < 500, `${answer.status} ${what}`);
  });
}

const parts = [
  '+',
  '+%09',
  'a',
  '1',
  '.',
  ',',
  'a.',
  'a,',
  'a:',
  '-',
  '(',
  ')',
  '()',
  '%25',
  '%5C',
  "'",
  '%22',
  '@',
  'ey-',
  '-ey',
  'ck_',
  'token',
  '?token',
  '/',
  '*',
  '%E2%82%AC',
  '%F0%9F%98%80',
  '1%3D1%26%26',
  '(1%3D1)%26%26',
  '((',
];

test('Q-57 parameters of a list take linear time, whether or not a guest may list', async (t) => {
  const service = await startTypes(t);
  const names = ['filter', 'sort', 'fields', 'expand', 'page', 'perPage', 'cursor', 'skipTotal', 'other'];
  for (const index of rules.keys())
    for (const name of names)
      for (const part of parts)
        for (const start of name === 'fields' ? ['', 'a:', 'a:excerpt('] : ['']) {
          const value = start + part.repeat((lineLength - 100) / part.length) + '!';
          await assertAnswered(
            `${service.url}/api/collections/text${index}/records?${name}=${value}`,
            {},
            lineLength,
          );
        }
});

test('Q-57 parameters of the log of events and of the feed take linear time', async (t) => {
  const service = await startTypes(t);
  const names = {
    feed: ['cursor', 'since', 'consumer', 'events', 'collections', 'signed', 'wait'],
    events: ['record', 'filter', 'sort', 'cursor'],
    deliveries: ['filter', 'sort', 'cursor'],
  };
  const authorization = service.superuser.token;
  for (const [path, its] of Object.entries(names))
    for (const name of its)
      for (const part of parts) {
        const value = part.repeat((lineLength - 600) / part.length);
        const url = `${service.url}/api/webhooks/${path}?${name}=${value}`;
        await assertAnswered(url, { headers: { authorization } }, lineLength);
      }
});

test('H-81 headers take linear time', async (t) => {
  const service = await startTypes(t);
  const names = [
    'accept',
    'accept-encoding',
    'authorization',
    'cookie',
    'content-type',
    'forwarded',
    'idempotency-key',
    'if-match',
    'if-none-match',
    'origin',
    'range',
    'referer',
    'user-agent',
    'x-forwarded-for',
    'x-key',
  ];
  const pieces = [
    ' ',
    ' \t',
    'a',
    '1',
    '.',
    ',',
    ', ',
    '"',
    '"a",',
    'W/"a", ',
    'a.',
    'a=b; ',
    'bearer ',
    'ey-',
    'eya.',
    'ck_',
    '::',
    '1.1.1.1, ',
    '/?token',
    '[',
    '\u00e9',
  ];
  for (const index of rules.keys())
    for (const name of names)
      for (const piece of pieces) {
        const value = `x${piece.repeat(lineLength / piece.length)}!`;
        await assertAnswered(
          `${service.url}/api/collections/text${index}/records/aaaaaaaaaaaaaaa`,
          { headers: { [name]: value } },
          lineLength,
        );
      }
});

test('I-31 long values for each type of field take linear time, whether or not a guest may create', async (t) => {
  const service = await startTypes(t);
  const length = 300_000;
  const texts = ['1', ' ', 'a.', '[', '"', '\\', '\u20ac'].map((part) => part.repeat(length / part.length));
  const numbers = Array.from({ length: length / 20 }, (_, index) => index);
  const values = [
    ...texts.flatMap((text) => [`${text}x`, `1e${text}`]),
    numbers.map((number) => `v${number}`),
    JSON.stringify(numbers.map((number) => `v${number}`)),
    Object.fromEntries(numbers.map((number) => [`k${number}`, number])),
    Object.fromEntries(numbers.map((number) => [number * 4_001, number])),
  ];
  for (const value of values)
    for (const type of Object.keys(types))
      for (const index of rules.keys()) {
        const body = JSON.stringify({ f: value });
        const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
        await assertAnswered(`${service.url}/api/collections/${type}${index}/records`, options, body.length);
      }
});

test('H-82 a URL or headers in a batch that no request of its own could have are refused', async (t) => {
  const service = await startTypes(t);
  const at = '/api/collections/text0/records';
  const tooLong = [
    { url: `${at}?x=${'1'.repeat(600_000)}` },
    { url: `${at}?${'😀&'.repeat(100_000)}` },
    { url: at, headers: { 'if-match': '"a",'.repeat(100_000) } },
    {
      url: at,
      headers: Object.fromEntries(
        Array.from({ length: 1_000 }, (_, index) => [`x-key-${index}`, 'a'.repeat(20)]),
      ),
    },
  ];
  for (const item of tooLong) {
    const requests = Array.from({ length: 50 }, () => ({ method: 'POST', body: {}, ...item }));
    const body = JSON.stringify({ requests });
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    await assertLinear('a batch', { length: body.length, factor: 20, restMs: turnMs }, async () => {
      const answer = await fetch(`${service.url}/api/batch`, options);
      assert.match(
        await answer.text(),
        /"message":"Expected at most 16384 characters in the url and the headers/,
      );
    });
  }
});

test('H-82 characters beyond Latin-1 in the URL of a batch take linear time and mean what they do elsewhere', async (t) => {
  const service = await startTypes(t);
  const url = `/api/collections/text0/records?fields=f&${'😀&'.repeat(5_000)}`;
  const requests = Array.from({ length: 50 }, () => ({ method: 'POST', url, body: { f: 'a' } }));
  const body = JSON.stringify({ requests });
  await assertLinear('a batch', { length: body.length, restMs: 10 * turnMs }, async () => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const answer = await fetch(`${service.url}/api/batch`, options);
    assert.equal(
      await answer.text(),
      JSON.stringify(requests.map(() => ({ body: { f: 'a' }, status: 201 }))),
    );
  });
});
