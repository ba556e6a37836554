/**
 * The thread in which sockets, TLS and HMAC run, so that they add nothing to the API's latency. It has no state that could be
 * lost: the main thread has every open attempt, and reports those of a dead worker as aborted.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { nodeTls } from '../network/open-socket.ts';
import { attemptParts, sendAttempt } from './attempt.ts';
import { GuardedAgent } from './guarded-agent.ts';
import type {
  FromWorker,
  NumberedRequest,
  NumberedResult,
  SenderSettings,
  ToWorker,
} from './sender-messages.ts';

const STOP_POLL_MS = 10;

assert(parentPort !== null, 'sender-worker.ts runs as a worker thread only');
const port = parentPort;
// Only sender.ts starts this file, with these settings.
const settings = workerData as SenderSettings;

const clock = systemClock;
const { proxy, authorities } = settings.egress ?? {};
// Of this thread alone.
if (authorities !== undefined)
  nodeTls.setDefaultCACertificates([...nodeTls.getCACertificates('default'), ...authorities]);
const agent = new GuardedAgent({ ...settings, proxy, clock });
const parts = attemptParts({ agent, clock });
const { inFlight } = parts;
let unsent: NumberedResult[] = [];

// Only sender.ts holds the other end of the port.
port.on('message', (message: ToWorker) => {
  if (message.kind === 'send') for (const numbered of message.requests) void run(numbered);
  else if (message.kind === 'handshake') void shakeHands(message);
  else void stop(message.graceMs);
});

async function run({ token, request }: NumberedRequest): Promise<void> {
  const result = await sendAttempt(request, parts);
  // One message carries all results of this turn of the loop.
  if (unsent.length === 0) setImmediate(flush);
  unsent.push({ token, result });
}

async function shakeHands({ token, url, tls }: Extract<ToWorker, { kind: 'handshake' }>): Promise<void> {
  post({ kind: 'handshake', token, isReached: await agent.handshake(url, tls) });
}

function flush(): void {
  const results = unsent;
  unsent = [];
  if (results.length > 0) post({ kind: 'results', results });
}

async function stop(graceMs: number): Promise<void> {
  const deadline = clock.monotonic() + graceMs;
  while (inFlight.size > 0 && clock.monotonic() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, STOP_POLL_MS));
  }
  inFlight.abortAll();
  // The aborted attempts' promises settle in microtasks before the next turn begins.
  await new Promise((resolve) => setImmediate(resolve));
  flush();
  agent.stop();
  post({ kind: 'stopped' });
}

function post(message: FromWorker): void {
  port.postMessage(message);
}
