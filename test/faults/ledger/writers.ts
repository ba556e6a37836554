import type { Random } from '../random.ts';
import { textOf, type ChangeKind, type Outcome } from '../workload.ts';

/** One write that was asked for. */
export interface LedgerWrite {
  /** Says which event is of it; see {@link eventKey}. */
  readonly key: string;
  readonly kind: ChangeKind;
  readonly record: string;
  /** Of the run's process, in milliseconds. */
  readonly startMs: number;
  endMs: number;
  outcome: Outcome | 'open';
  /** 0 when no answer came. */
  status: number;
}

/** Names an event: what a write has left in its record, or for a deletion the record, of which there is one. */
export function eventKey(event: {
  readonly kind: string;
  readonly title: string;
  readonly record: string;
}): string {
  return event.kind === 'record.delete' ? `delete ${event.record}` : event.title;
}

export interface WritersOptions {
  /** Where the collection is now; undefined while no server is there. */
  readonly url: () => string | undefined;
  readonly name: string;
  readonly perSecond: number;
  readonly random: Random;
}

const updateShare = 0.2;
const deleteShare = 0.08;
/** A server that hangs must not take all of the memory of the run. */
const openMax = 200;
const answerMsMax = 30_000;

/** Writes at a steady pace, whether or not anything is answered: a server that is slow or away is not spared what comes next. */
export class OpenLoopWriters {
  readonly writes: LedgerWrite[] = [];
  readonly #options: WritersOptions;
  /** Records that are there and that nobody is writing. */
  readonly #free: string[] = [];
  readonly #open = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(options: WritersOptions) {
    this.#options = options;
  }

  start(): void {
    const next = (): void => {
      const write = this.#write().finally(() => this.#open.delete(write));
      this.#open.add(write);
    };
    this.#timer = setInterval(() => {
      if (this.#open.size < openMax) next();
    }, 1_000 / this.#options.perSecond);
  }

  /** Resolves when the last write has its answer, or none. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
  }

  async #write(): Promise<void> {
    const url = this.#options.url();
    if (url === undefined) return;
    const records = `${url}/api/collections/posts/records`;
    const token = `${this.#options.name}-${(this.#count += 1)}`;
    const place = this.#options.random.unit();
    const share = this.#options.random.unit();
    const index = Math.floor(place * this.#free.length);
    const [record] = share < updateShare + deleteShare ? this.#free.splice(index, 1) : [];
    const body = { title: token, body: textOf(token) };
    if (record === undefined) {
      const id = token.replaceAll(/[^a-z0-9]/g, 'x').padStart(15, '0');
      await this.#ask(records, { key: token, kind: 'create', record: id, body: { id, ...body } });
    } else if (share < updateShare)
      await this.#ask(`${records}/${record}`, { key: token, kind: 'update', record, body });
    else await this.#ask(`${records}/${record}`, { key: `delete ${record}`, kind: 'delete', record });
  }

  async #ask(
    url: string,
    { body, ...asked }: Pick<LedgerWrite, 'key' | 'kind' | 'record'> & { readonly body?: object },
  ): Promise<void> {
    const write: LedgerWrite = { ...asked, startMs: performance.now(), endMs: 0, outcome: 'open', status: 0 };
    this.writes.push(write);
    const method = { create: 'POST', update: 'PATCH', delete: 'DELETE' }[write.kind];
    write.status = await statusOf(url, method, body);
    write.endMs = performance.now();
    const isUnknown = write.status === 0 || write.status >= 500;
    write.outcome = isUnknown ? 'unknown' : write.status < 300 ? 'acknowledged' : 'refused';
    // Records whose state is not known are written no more: so their events follow from the writes.
    if (write.outcome === 'acknowledged' && write.kind !== 'delete') this.#free.push(write.record);
  }
}

/** 0 when no answer came. */
async function statusOf(url: string, method: string, body: object | undefined): Promise<number> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { 'content-type': 'application/json' };
  try {
    const signal = AbortSignal.timeout(answerMsMax);
    const response = await fetch(url, { method, headers, ...content, signal });
    // The status is the acknowledgement; the rest of the answer may be cut off with the server.
    await response.arrayBuffer().catch(() => undefined);
    return response.status;
  } catch {
    return 0;
  }
}
