import { systemClock } from '../base/clock.ts';
import { AppError, busy } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import type { Holding, Ledger } from '../base/ledger.ts';

/** Memory for a body is taken in steps of this size: a client that sends byte by byte would else take it each time. */
const stepBytes = 64 * 1024;

/** Of the share of an instance, how much the unfinished bodies of one address may take. */
const addressesOfShare = 10;

/**
 * The memory of bodies that are still on their way. It is taken from the ledger of all as they arrive: what a client announces costs it
 * nothing. Where it is too much, the slowest body is refused: most take less than a second, and a client that fills the memory on
 * purpose never ends its own.
 */
export class UnfinishedBodies {
  readonly #ledger: Ledger;
  /** By instance and address. */
  readonly #bodies = new Map<string, Set<UnfinishedBody>>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Begins a body. `refuse` is called when it has to be given up, with what it is to be answered; it has ended then. */
  begin(share: Share, refuse: (error: AppError) => void): UnfinishedBody {
    const holding = this.#ledger.holdAnyway(share);
    const body = { share, holding, refuse, beganMs: systemClock.monotonic(), received: 0 };
    const key = keyOf(share);
    const ofAddress = this.#bodies.get(key) ?? new Set();
    ofAddress.add(body);
    this.#bodies.set(key, ofAddress);
    return body;
  }

  /** Takes memory for all that has come of a body. It may refuse this body, and others. */
  receive(body: UnfinishedBody, received: number): void {
    body.received = received;
    const ofAddress = this.#bodies.get(keyOf(body.share));
    while (body.holding.amount < received) {
      // It was refused.
      if (ofAddress?.has(body) !== true) return;
      const max = this.#ledger.shareOf(body.share.instance) / addressesOfShare;
      if (ofAddress.size > 1 && sumOf(ofAddress) + stepBytes > max) this.#refuseSlowest(ofAddress);
      else if (!this.#ledger.grow(body.holding, stepBytes)) this.#makeRoom(body);
    }
  }

  /** Ends a body, whether or not all of it has come. */
  end(body: UnfinishedBody): void {
    const key = keyOf(body.share);
    const ofAddress = this.#bodies.get(key);
    ofAddress?.delete(body);
    if (ofAddress?.size === 0) this.#bodies.delete(key);
    this.#ledger.release(body.holding);
  }

  /** Ends a body of which all has come. What it takes is held until the returned function is called. */
  finish(body: UnfinishedBody): () => void {
    const ofAddress = this.#bodies.get(keyOf(body.share));
    ofAddress?.delete(body);
    if (ofAddress?.size === 0) this.#bodies.delete(keyOf(body.share));
    this.#ledger.set(body.holding, body.received);
    return () => this.#ledger.release(body.holding);
  }

  #makeRoom(body: UnfinishedBody): void {
    const { instance } = body.share;
    const own = [...this.#bodies.values()].flatMap((bodies) =>
      [...bodies].filter(({ share }) => share.instance === instance),
    );
    const slowest = slowestOf(own);
    // Nothing of its instance's bodies is left to give up but itself.
    if (slowest === undefined || slowest === body || own.length === 1) this.#refuse(body, busy());
    else this.#refuse(slowest, tooSlow());
  }

  #refuseSlowest(bodies: Iterable<UnfinishedBody>): void {
    const slowest = slowestOf(bodies);
    if (slowest !== undefined) this.#refuse(slowest, tooSlow());
  }

  #refuse(body: UnfinishedBody, error: AppError): void {
    this.end(body);
    body.refuse(error);
  }
}

export interface UnfinishedBody {
  readonly share: Share;
  readonly holding: Holding;
  readonly refuse: (error: AppError) => void;
  readonly beganMs: number;
  /** Bytes. */
  received: number;
}

function keyOf({ instance, address }: Share): string {
  return `${instance}|${address}`;
}

function sumOf(bodies: Iterable<UnfinishedBody>): number {
  let sum = 0;
  for (const { holding } of bodies) sum += holding.amount;
  return sum;
}

/** A second for each is not counted: whoever has just begun is not slow. */
const graceMs = 1_000;

function slowestOf(bodies: Iterable<UnfinishedBody>): UnfinishedBody | undefined {
  const nowMs = systemClock.monotonic();
  let [slowest, least]: [UnfinishedBody | undefined, number] = [undefined, Infinity];
  for (const body of bodies) {
    const speed = body.received / (nowMs - body.beganMs + graceMs);
    // Of equal ones the oldest.
    if (speed < least) [slowest, least] = [body, speed];
  }
  return slowest;
}

function tooSlow(): AppError {
  return new AppError('too_slow', 'The body was too slow: too many others are being received.', {
    retryAfter: 1,
  });
}
