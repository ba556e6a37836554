/**
 * Receivers in a process of their own, one for each endpoint, each with its script. Started by receivers.ts with the path of a journal:
 * a line for every request, written before it is answered. Ends with its parent.
 */
import { createHash, createHmac } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { Receiver, type ReceivedRequest, type ReceiverMode } from '../../support/receiver.ts';
import { answerOf, type AnswerKind, type ReceiverScript } from './receiver-scripts.ts';

/** One request, as a line of the journal. */
export interface LedgerReceipt {
  /** The number of its line, from 0. */
  readonly line: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The receiver's name. */
  readonly receiver: string;
  readonly eventId: string;
  readonly delivery: string;
  readonly attempt: number;
  readonly sequence: number;
  /** Of the body. */
  readonly digest: string;
  /** Whether both signatures are right. */
  readonly isVerified: boolean;
  readonly answer: AnswerKind;
}

export type ToReceivers =
  | { readonly kind: 'open'; readonly name: string; readonly script: ReceiverScript }
  | { readonly kind: 'secret'; readonly name: string; readonly secret: string }
  /** Scripts begin. */
  | { readonly kind: 'begin' }
  /** All is well from now on. */
  | { readonly kind: 'heal' }
  /** Tell how many lines there are, once no connection is open or this time has passed. */
  | { readonly kind: 'mark'; readonly waitMs: number };

export type FromReceivers =
  | { readonly kind: 'opened'; readonly name: string; readonly port: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'marked'; readonly lines: number; readonly isQuiet: boolean };

interface Scripted {
  readonly receiver: Receiver;
  readonly script: ReceiverScript;
  secrets: string[];
  timer: NodeJS.Timeout | undefined;
}

const journal = openSync(process.argv[2] ?? '', 'a');
let lines = 0;
const all = new Map<string, Scripted>();
/** So that what a dead process has written to its sockets is read: each turn of the loop reads what is there. */
const turns = 10;

process.on('message', (message: ToReceivers) => void handle(message));
process.once('disconnect', () => process.exit(0));

async function handle(message: ToReceivers): Promise<void> {
  switch (message.kind) {
    case 'open':
      return open(message.name, message.script);
    case 'secret': {
      const one = all.get(message.name);
      one?.secrets.push(message.secret);
      return say({ kind: 'done' });
    }
    case 'begin':
      for (const one of all.values()) play(one, 0);
      return say({ kind: 'done' });
    case 'heal':
      for (const one of all.values()) {
        clearTimeout(one.timer);
        one.receiver.mode = { kind: 'ok' };
      }
      return say({ kind: 'done' });
    case 'mark':
      return mark(message.waitMs);
  }
}

function say(message: FromReceivers): void {
  process.send?.(message);
}

async function open(name: string, script: ReceiverScript): Promise<void> {
  const onRequest = (request: ReceivedRequest, mode: ReceiverMode): void => note(name, request, mode);
  const receiver = await Receiver.open({ onRequest, isForgetful: true });
  all.set(name, { receiver, script, secrets: [], timer: undefined });
  say({ kind: 'opened', name, port: receiver.port });
}

function play(one: Scripted, place: number): void {
  const { steps, isRepeated } = one.script;
  const step = steps[isRepeated ? place % steps.length : place];
  if (step === undefined) return;
  one.receiver.mode = step.mode;
  const isLast = !isRepeated && place === steps.length - 1;
  if (!isLast) one.timer = setTimeout(() => play(one, place + 1), step.forMs);
}

function note(name: string, { headers, body, receivedAt }: ReceivedRequest, mode: ReceiverMode): void {
  const header = (key: string): string => String(headers[key] ?? '');
  const receipt: LedgerReceipt = {
    line: lines,
    atMs: receivedAt,
    receiver: name,
    eventId: header('webhook-id'),
    delivery: header('x-service-delivery'),
    attempt: Number(header('x-service-attempt')),
    sequence: Number(header('x-service-sequence')),
    digest: createHash('sha256').update(body).digest('base64'),
    isVerified: (all.get(name)?.secrets ?? []).some((secret) => isVerified(secret, header, body)),
    answer: answerOf(mode),
  };
  writeSync(journal, `${JSON.stringify(receipt)}\n`);
  lines += 1;
}

function isVerified(secret: string, header: (name: string) => string, body: Buffer): boolean {
  if (header('x-service-signature') !== createHmac('sha256', secret).update(body).digest('hex')) return false;
  const signed = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  try {
    new Webhook(secret).verify(body, Object.fromEntries(signed.map((name) => [name, header(name)])));
    return true;
  } catch {
    return false;
  }
}

async function mark(waitMs: number): Promise<void> {
  const endMs = performance.now() + waitMs;
  const isQuiet = (): boolean => all.values().every(({ receiver }) => receiver.openConnections === 0);
  while (!isQuiet() && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 2));
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
  say({ kind: 'marked', lines, isQuiet: isQuiet() });
}
