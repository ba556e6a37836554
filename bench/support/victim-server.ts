/**
 * A quiet instance as its users see it: every 20 ms a view, a create and a look at `/api/health/live`, and the webhook of each create.
 * In a process of its own, so that the load beside it is not measured.
 *
 *   POST /hook        takes webhooks
 *   PUT /begin        begins to ask: the body is a `VictimTarget`
 *   PUT /end          stops, and answers with a `VictimTimes`
 */
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { json, text } from 'node:stream/consumers';
import type { VictimTarget, VictimTimes } from './victim.ts';

const everyMs = 20;
/** What has not been answered or delivered this long after the end counts as having waited until then. */
const graceMs = 30_000;
const requestMsMax = 60_000;

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
let times = emptyTimes();
/** When the answer to a create arrived, by the id of the record, until its webhook is there. */
const undelivered = new Map<string, number>();
/** Webhooks that were faster than the answer. */
const early = new Set<string>();
/** When each request that has no answer yet began, and what kind it is. */
const open = new Set<{ readonly kind: 'view' | 'create' | 'live'; readonly startMs: number }>();
let timer: NodeJS.Timeout | undefined;

function emptyTimes(): VictimTimes {
  return { view: [], create: [], live: [], webhook: [], refused: 0 };
}

function begin({ recordsUrl, recordId, liveUrl, body }: VictimTarget): void {
  times = emptyTimes();
  undelivered.clear();
  early.clear();
  timer = setInterval(() => {
    void measure('view', `${recordsUrl}/${recordId}`);
    void measure('live', liveUrl);
    void measure('create', recordsUrl, body).then((answer) => {
      const id = /"id":"(\w+)"/.exec(answer)?.[1];
      if (id !== undefined && !early.delete(id)) undelivered.set(id, performance.now());
    });
  }, everyMs);
}

async function measure(kind: 'view' | 'create' | 'live', url: string, body?: string): Promise<string> {
  const measured = { kind, startMs: performance.now() };
  open.add(measured);
  const answer = await ask(url, body).catch(() => undefined);
  // Otherwise the end has counted it.
  if (open.delete(measured)) times[kind].push(performance.now() - measured.startMs);
  if (answer === undefined) times.refused += 1;
  return answer ?? '';
}

/** Rejects when the answer is no 2xx. */
function ask(url: string, body: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const options = { agent, headers, method: body === undefined ? 'GET' : 'POST', timeout: requestMsMax };
    const asking = request(url, options, (response) => {
      text(response).then(
        (answer) =>
          String(response.statusCode).startsWith('2') ? resolve(answer) : reject(new Error(answer)),
        reject,
      );
    });
    asking.once('timeout', () => asking.destroy());
    asking.once('error', reject);
    asking.end(body);
  });
}

async function end(): Promise<VictimTimes> {
  clearInterval(timer);
  const untilMs = performance.now() + graceMs;
  while ((open.size > 0 || undelivered.size > 0) && performance.now() < untilMs) await sleep(everyMs);
  for (const { kind, startMs } of open) times[kind].push(performance.now() - startMs);
  open.clear();
  for (const answeredMs of undelivered.values()) times.webhook.push(performance.now() - answeredMs);
  return times;
}

async function takeWebhook(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = /"data":\{"id":"(\w+)"/.exec(await text(incoming))?.[1] ?? '';
  response.end('ok');
  const answeredMs = undelivered.get(id);
  undelivered.delete(id);
  if (answeredMs === undefined) early.add(id);
  times.webhook.push(answeredMs === undefined ? 0 : performance.now() - answeredMs);
}

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  if (incoming.method === 'POST') return takeWebhook(incoming, response);
  // The benchmark writes these bodies.
  if (incoming.url === '/begin') begin((await json(incoming)) as VictimTarget);
  response.end(incoming.url === '/end' ? JSON.stringify(await end()) : '');
}

const server = createServer((incoming, response) => void answer(incoming, response));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
