import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import type { Share } from '../base/fair-line.ts';
import { Ledger } from '../base/ledger.ts';
import { openFilesMax } from '../base/process.ts';

/** What an answer holds besides JSON. */
export interface Content {
  /** Bytes. */
  readonly length: number;
  /** A stream has not been read from yet. Absent for a HEAD. */
  readonly body?: Uint8Array | Readable | undefined;
  /** Whether it is a stored file, whose bytes are counted apart. */
  readonly isFile?: true;
}

export interface ContentHead {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  /** The files that are being sent at the same time, one for each client. */
  readonly sending?: Ledger;
  /** Who is sent it. */
  readonly share: Share;
}

/**
 * Each file that is being sent is open for as long as its client reads. Beyond the maximum the oldest of the instance that has
 * most is given up: clients that hardly read must not take the files that databases need, and any other goes on where it was, by a range.
 */
const ofAll = new Ledger({ max: Math.min(1_024, Math.max(16, Math.floor(openFilesMax() / 8))) });

/** Sends content as it is read, at the pace of the client: no more than a piece of it is in memory. */
export function sendContent(
  response: ServerResponse,
  { status, headers, share, sending = ofAll }: ContentHead,
  { length, body }: Content,
): void {
  const sent = Object.entries(headers).filter(([, value]) => value !== '');
  response.writeHead(status, { ...Object.fromEntries(sent), 'content-length': length });
  if (body === undefined || body instanceof Uint8Array) {
    response.end(body);
    return;
  }
  // The client went away while the file was opened: nothing can be piped, and nothing else would close the file.
  if (response.destroyed) {
    body.destroy();
    return;
  }
  const holding = sending.holdAnyway(share);
  // A file that breaks off, or a client that goes away, ends both. The status is sent: a client tells by the length.
  pipeline(body, response, () => sending.release(holding));
  sending.offer(holding, () => void response.destroy());
  sending.set(holding, 1);
}
