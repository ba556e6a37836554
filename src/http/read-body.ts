import type { IncomingMessage } from 'node:http';
import { AppError } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { Pieces } from '../base/pieces.ts';
import { httpLimits } from './connections.ts';
import type { UnfinishedBodies } from './unfinished-bodies.ts';

/** Where the memory of a body is counted. */
export interface BodyMemory {
  readonly bodies: UnfinishedBodies;
  readonly share: Share;
}

/** A body, and what ends the memory that it takes. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly release: () => void;
}

/**
 * Reads the bytes of a body. Throws payload_too_large, at once when the announced length is too large, and unavailable or too_slow when
 * the bodies of all clients together are too large. Bytes that arrive after that are discarded.
 */
export function readBody(payload: IncomingMessage, { bodies, share }: BodyMemory): Promise<ReadBody> {
  const announced = Number(payload.headers['content-length'] ?? 0);
  if (announced > httpLimits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const refuse = (error: Error): void => {
      payload.off('data', take);
      pieces.take();
      bodies.end(body);
      reject(error);
    };
    const body = bodies.begin(share, refuse);
    const take = (piece: Buffer): void => {
      pieces.add(piece);
      if (pieces.length > httpLimits.bodyBytesMax) return refuse(tooLarge());
      bodies.receive(body, pieces.length);
    };
    payload.on('data', take);
    payload.once('error', refuse);
    payload.once('end', () => resolve({ bytes: pieces.take(), release: bodies.finish(body) }));
  });
}

/** The refusal of a body that is larger than it may be. */
export function tooLarge(): AppError {
  return new AppError('payload_too_large', 'Request entity too large.');
}
