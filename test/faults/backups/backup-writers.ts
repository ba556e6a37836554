import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { WorldEvent } from './worlds.ts';

/** One write that was asked for. */
export interface BackupWrite {
  /** Names its event: the title that it leaves in its record, or of a deletion the record. See {@link eventKey}. */
  readonly key: string;
  readonly kind: 'create' | 'update' | 'delete';
  readonly record: string;
  /** Of the process of the run, in milliseconds. */
  readonly startMs: number;
  endMs: number;
  /** 0 when no answer came. */
  status: number;
  /** Of the answer. */
  etag: string;
}

export interface BackupWritersOptions {
  /** Where the instance is now; undefined while no server is there. */
  readonly url: () => string | undefined;
  readonly random: Random;
}

const writersCount = 3;
const pauseMsMax = 120;
const answerMsMax = 30_000;
const shares = { delete: 0.1, update: 0.4, member: 0.45 } as const;
const fileShare = 0.5;

export function eventKey({ kind, title, record }: Pick<WorldEvent, 'kind' | 'title' | 'record'>): string {
  return kind === 'record.delete' ? `delete ${record}` : title;
}

/** What the file holds that a write uploads, whose name begins with the title. */
export function fileContent(title: string): string {
  return `content of ${title} `.repeat(title.length);
}

/** Writers that each wait for an answer and then write on, whatever becomes of the instance: records, their files, and accounts. */
export class BackupWriters {
  readonly writes: BackupWrite[] = [];
  readonly #options: BackupWritersOptions;
  readonly #loops: Promise<void>[] = [];
  #isWriting = false;
  #count = 0;

  constructor(options: BackupWritersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isWriting = true;
    for (let index = 0; index < writersCount; index += 1) this.#loops.push(this.#loop());
  }

  async stop(): Promise<void> {
    this.#isWriting = false;
    await Promise.all(this.#loops);
  }

  async #loop(): Promise<void> {
    const { random } = this.#options;
    /** Records whose last write was acknowledged. */
    const free: string[] = [];
    while (this.#isWriting) {
      await wait(random.integer(1, pauseMsMax));
      const share = random.unit();
      const index = random.integer(0, Math.max(0, free.length - 1));
      const url = this.#options.url();
      if (url === undefined) continue;
      const [record] = share < shares.update ? free.splice(index, 1) : [];
      const write = await this.#write(url, { record, share, isWithFile: random.unit() < fileShare });
      if (write.kind !== 'delete' && write.status < 300 && write.status > 0 && !isMember(write.record))
        free.push(write.record);
    }
  }

  async #write(
    url: string,
    {
      record,
      share,
      isWithFile,
    }: { readonly record: string | undefined; readonly share: number; readonly isWithFile: boolean },
  ): Promise<BackupWrite> {
    const title = `write${(this.#count += 1)}`;
    const isAccount = record === undefined && share < shares.member;
    const id = record ?? title.padStart(15, isAccount ? 'm' : 'r');
    const kind = record === undefined ? 'create' : share < shares.delete ? 'delete' : 'update';
    const form = new FormData();
    form.set('title', title);
    if (kind === 'create') form.set('id', id);
    if (isAccount) {
      form.set('email', `${title}@example.com`);
      form.set('password', accountPassword);
      form.set('passwordConfirm', accountPassword);
    } else if (isWithFile) form.set('file', new File([fileContent(title)], `${title}.txt`));
    const key = kind === 'delete' ? `delete ${id}` : title;
    const write: BackupWrite = {
      key,
      kind,
      record: id,
      startMs: performance.now(),
      endMs: 0,
      status: 0,
      etag: '',
    };
    this.writes.push(write);
    const records = `${url}/api/collections/${isAccount ? 'members' : 'posts'}/records`;
    await answerTo(
      write,
      kind === 'create' ? records : `${records}/${id}`,
      kind === 'delete' ? undefined : form,
    );
    return write;
  }
}

export const accountPassword = 'correct horse battery';

export function isMember(record: string): boolean {
  return record.startsWith('m');
}

async function answerTo(write: BackupWrite, url: string, body: FormData | undefined): Promise<void> {
  const method = { create: 'POST', update: 'PATCH', delete: 'DELETE' }[write.kind];
  try {
    const signal = AbortSignal.timeout(answerMsMax);
    const response = await fetch(url, { method, ...(body && { body }), signal });
    write.etag = response.headers.get('etag') ?? '';
    write.status = response.status;
    // The status is the acknowledgement; the rest of the answer may be cut off with the server.
    await response.arrayBuffer().catch(() => undefined);
  } catch {
    // No answer came: it may or may not be there.
  }
  write.endMs = performance.now();
}
