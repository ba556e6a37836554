import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../base/errors.ts';
import { toDiskError } from '../../storage/engine-errors.ts';
import { requireRoom } from '../../storage/require-room.ts';
import { tooLarge } from '../read-body.ts';

export interface BodyFile {
  /** Must not exist. */
  readonly path: string;
  readonly bytesMax: number;
}

/** How often the room on the disk is looked at: another may take it meanwhile. */
const lookBytes = 64 * 1024 * 1024;

/**
 * Writes a body to a file as it comes in, at the pace of the disk. Throws bad_request for none, and for one that is cut; payload_too_large,
 * and storage_full before the disk is full: at once where the announced length tells. What was written is left to the caller.
 */
export async function receiveBody(request: IncomingMessage, { path, bytesMax }: BodyFile): Promise<void> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytesMax) throw tooLarge();
  const folder = dirname(path);
  await requireRoom(folder, announced);
  let [size, lookAt] = [0, lookBytes];
  async function* content(): AsyncGenerator<Buffer> {
    // The answer to a body that is refused goes over the same connection.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      // A stream of bytes.
      const bytes = piece as Buffer;
      size += bytes.length;
      if (size > bytesMax) throw tooLarge();
      if (size >= lookAt) {
        await requireRoom(folder, Math.max(announced - size, 0));
        lookAt = size + lookBytes;
      }
      yield bytes;
    }
  }
  try {
    await pipeline(content(), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    throw toDiskError(error);
  }
  if (size === 0) throw new AppError('bad_request', 'Expected an archive as the body.');
}
