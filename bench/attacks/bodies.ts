import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attacker, Attacks, Target } from '../support/attack.ts';

const records = '/api/collections/bench/records';
const files = '/api/collections/files/records';

/** Large, slow and odd bodies; uploads. */
export const bodyAttacks: Attacks = {
  'bodies of 30 MB, 4 clients': jsonBody(4, () => `{"meta":"${'x'.repeat(30_000_000)}"}`),
  'bodies of 5 million escapes, 4 clients': jsonBody(4, () => `{"title":"${'\\u0061'.repeat(5_000_000)}"}`),
  'bodies of 10 million numbers, 2 clients': jsonBody(2, () => `{"meta":[${'1,'.repeat(9_999_999)}1]}`),
  'bodies of 1 million members, 2 clients': jsonBody(
    2,
    () => `{${Array.from({ length: 1_000_000 }, (_, at) => `"k${at}":1`).join(',')}}`,
  ),
  'json values of 1 MB, 16 clients': jsonBody(16, () =>
    JSON.stringify({ title: 'x', meta: Array.from({ length: 100_000 }, (_, at) => at) }),
  ),
  'forms of 1,000 fields, 8 clients': { clients: 8, run: ({ ask }) => ask(records, { body: form(1_000) }) },
  'uploads of 5 MB, 8 clients': {
    clients: 8,
    prepare: prepareFiles,
    run: ({ ask }) => ask(files, { body: upload(5_000_000) }),
  },
  'uploads of 1 KB, 32 clients': {
    clients: 32,
    prepare: prepareFiles,
    run: ({ ask }) => ask(files, { body: upload(1_000) }),
  },
  'bodies that arrive slowly, 300 clients': { clients: 300, run: slowly },
  'answers that nobody reads, 100 clients': { clients: 100, run: unread },
  'connections that close at once, 64 clients': { clients: 64, run: closing },
};

function jsonBody(clients: number, make: () => string): Attacks[string] {
  let body: string | undefined;
  return { clients, run: ({ ask }) => ask(records, { body: (body ??= make()) }) };
}

async function prepareFiles({ api }: Target): Promise<void> {
  await api('/api/collections', {
    name: 'files',
    fields: [{ name: 'file', type: 'file', maxSize: 10_000_000, maxSelect: 1 }],
  });
}

function form(count: number): FormData {
  const data = new FormData();
  for (let n = 0; n < count; n += 1) data.append(`field${n}`, 'value');
  return data;
}

function upload(bytes: number): FormData {
  const data = new FormData();
  data.append('file', new Blob([new Uint8Array(bytes)]), 'file.bin');
  return data;
}

async function slowly(attacker: Attacker): Promise<void> {
  const head =
    'POST /api/collections/bench/records HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 30000000\r\n\r\n';
  await raw(attacker, head, async (write) => {
    while (!attacker.signal.aborted) {
      write('x'.repeat(1_000));
      await sleep(100);
    }
  });
}

async function unread(attacker: Attacker): Promise<void> {
  const get = `GET /api/collections/bench/records?perPage=1000 HTTP/1.1\r\nHost: x\r\n\r\n`;
  await raw(attacker, get.repeat(20), async (_, pause) => {
    pause();
    while (!attacker.signal.aborted) await sleep(100);
  });
}

async function closing(attacker: Attacker): Promise<void> {
  await raw(attacker, 'GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n', () => sleep(1));
}

/** A connection that is used until `use` is over. */
async function raw(
  { url }: Attacker,
  head: string,
  use: (write: (text: string) => void, pause: () => void) => Promise<unknown>,
): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.write(head);
  await use(
    (text) => socket.write(text),
    () => socket.pause(),
  );
  socket.destroy();
}
