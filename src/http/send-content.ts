import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { openFilesMax } from '../base/process.ts';
import { MemoryBudget } from './body.ts';

/** What an answer holds besides JSON. */
export interface Content {
  /** Bytes. */
  readonly length: number;
  /** A stream has not been read from yet. Absent for a HEAD. */
  readonly body?: Uint8Array | Readable | undefined;
}

/**
 * Files that are being sent, each of which is open for as long as its client reads. Beyond the maximum the oldest is given up: clients
 * that hardly read must not take the files that databases need, and any other goes on where it was, by a range.
 */
const sending = new MemoryBudget(Math.min(1_024, Math.max(16, Math.floor(openFilesMax() / 8))));

/** Sends content as it is read, at the pace of the client: no more than a piece of it is in memory. */
export function sendContent(
  response: ServerResponse,
  { status, headers }: { readonly status: number; readonly headers: OutgoingHttpHeaders },
  { length, body }: Content,
): void {
  const sent = Object.entries(headers).filter(([, value]) => value !== '');
  response.writeHead(status, { ...Object.fromEntries(sent), 'content-length': length });
  if (body === undefined || body instanceof Uint8Array) {
    response.end(body);
    return;
  }
  const giveUp = (): void => void response.destroy();
  sending.hold(giveUp, 1);
  // A file that breaks off, or a client that goes away, ends both. The status is sent: a client tells by the length.
  pipeline(body, response, () => sending.release(giveUp));
}
