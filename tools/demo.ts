/**
 * npm run demo: records in, signed webhooks out, in ten seconds of reading.
 *
 * Starts a service and a receiver in separate processes, changes records with the official `pocketbase` SDK, and verifies every
 * webhook in two independent ways. Exits with 0 only if all checks pass; leaves nothing behind.
 */
import { AssertionError } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PocketBase from 'pocketbase';
import { ChildProcesses, type StartedReceiver } from './demo/child-processes.ts';
import { Inbox } from './demo/inbox.ts';
import { Printer } from './demo/printer.ts';
import { checkWebhooks, prepare, sendTampered, tellStory, type History } from './demo/story.ts';

const email = 'demo@example.com';
const password = 'correct horse battery';
/** A limit for hangs only: the demo takes about two seconds, and ten times that on a slow and busy machine. */
const timeoutMs = 60_000;
/** How long to wait for webhooks that should not come. */
const surplusMs = 200;

process.exitCode = await main();

async function main(): Promise<number> {
  const printer = new Printer();
  const children = new ChildProcesses();
  const directory = mkdtempSync(join(tmpdir(), 'chancery-demo-'));
  try {
    await Promise.race([play(printer, children, directory), timeOut(), interruption()]);
    return 0;
  } catch (error) {
    printer.failed(reasonOf(error));
    return 1;
  } finally {
    await children.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function play(printer: Printer, children: ChildProcesses, directory: string): Promise<void> {
  const startedMs = performance.now();
  printer.heading('Chancery: records in, signed webhooks out');
  const inbox = new Inbox(printer);
  const [url, receiver] = await Promise.all([
    children.startService(directory),
    children.startReceiver((webhook) => inbox.add(webhook)),
  ]);
  printer.fact('service', url, 'started on an empty data directory');
  printer.fact('receiver', receiver.url, 'a separate process');
  await children.run('superuser', 'upsert', email, password, '--data', directory);
  const pb = new PocketBase(url);
  await pb.collection('_superusers').authWithPassword(email, password);
  printer.fact('superuser', email, 'created on the command line, signed in with the pocketbase SDK');
  await prepare(pb, receiver);
  printer.heading('→ requests to the service   ← webhooks at the receiver, each verified in two ways');
  const history = await tellStory({ pb, printer });
  await inbox.waitFor(countEvents(history));
  // Any surplus webhooks would arrive now.
  await new Promise((resolve) => setTimeout(resolve, surplusMs));
  checkWebhooks(inbox.webhooks, history);
  await checkTampering(printer, inbox, receiver);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  printer.held(
    `${countEvents(history)} changes, ${countEvents(history)} webhooks: each arrived once, in order, with valid signatures (${seconds} s).`,
  );
}

/** Checks that both verifiers reject a webhook in which a number was changed. */
async function checkTampering(printer: Printer, inbox: Inbox, receiver: StartedReceiver): Promise<void> {
  const [genuine] = inbox.webhooks;
  if (genuine === undefined) throw new Error('No webhook arrived.');
  printer.heading('A stranger sends a copy of the first webhook, with 1200 views instead of 12');
  const count = inbox.webhooks.length;
  const status = await sendTampered(receiver, genuine);
  await inbox.waitFor(count + 1);
  const { byHand, byPackage } = inbox.webhooks[count]?.verdicts ?? { byHand: true, byPackage: true };
  if (status !== 401 || byHand || byPackage) throw new Error('The receiver accepted a tampered webhook.');
}

function countEvents(history: History): number {
  return [...history.values()].flat().length;
}

function reasonOf(error: unknown): string {
  if (error instanceof AssertionError) {
    const [expected, actual] = [JSON.stringify(error.expected), JSON.stringify(error.actual)];
    return `it does not hold that ${error.message}.\n  expected ${expected}\n  found    ${actual}`;
  }
  return error instanceof Error ? error.message : String(error);
}

function timeOut(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(
      () => reject(new Error(`not everything had come after ${timeoutMs / 1000} s.`)),
      timeoutMs,
    ).unref();
  });
}

function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => reject(new Error(`ended by ${signal}.`)));
    }
    // `npm run demo | head`: without a reader there is nothing left to show, but still something to clean up.
    process.stdout.on('error', reject);
  });
}
