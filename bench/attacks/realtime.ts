import type { Attacker, Attacks } from '../support/attack.ts';
import { sampleRecord } from '../support/sample-record.ts';

const records = '/api/collections/bench/records';

/** Realtime connections, subscriptions, and what they are told. */
export const realtimeAttacks: Attacks = {
  '300 realtime clients with filters of their own, and writes': {
    clients: 301,
    run: (attacker) =>
      attacker.next() % 301 === 0
        ? write(attacker)
        : subscribe(
            attacker,
            `bench/*?options=${encodeURIComponent(JSON.stringify({ query: { filter: `views != ${attacker.next()}` } }))}`,
            writeOnce,
          ),
  },
  '300 realtime clients that wait': {
    clients: 300,
    run: (attacker) => subscribe(attacker, 'bench/*', undefined),
  },
  'realtime clients that come and go, 64 at once': {
    clients: 64,
    run: async ({ url, signal }) => {
      const leave = new AbortController();
      const both = AbortSignal.any([signal, leave.signal]);
      const stream = await fetch(`${url}/api/realtime`, { signal: both }).catch(() => undefined);
      await stream?.body
        ?.getReader()
        .read()
        .catch(() => undefined);
      leave.abort();
    },
  },
};

async function write({ ask, signal }: Attacker): Promise<void> {
  while (!signal.aborted) await ask(records, { body: JSON.stringify(sampleRecord(1)) });
}

async function writeOnce({ ask }: Attacker): Promise<void> {
  await ask(records, { body: JSON.stringify(sampleRecord(1)) });
}

/** Subscribes, and reads what it is told until the attack is over. */
async function subscribe(
  attacker: Attacker,
  topic: string,
  after: ((attacker: Attacker) => Promise<void>) | undefined,
): Promise<void> {
  const { url, signal, ask } = attacker;
  try {
    const stream = (await fetch(`${url}/api/realtime`, { signal })).body?.pipeThrough(
      new TextDecoderStream(),
    );
    const reader = stream?.getReader();
    const first = (await reader?.read())?.value ?? '';
    const clientId = /"clientId":"([^"]+)"/.exec(first)?.[1];
    await ask('/api/realtime', { body: JSON.stringify({ clientId, subscriptions: [topic] }) });
    await after?.(attacker);
    while ((await reader?.read())?.done === false);
  } catch {
    // The attack is over, or the connection was refused: the next one is counted by its POST.
  }
}
