import type { IncomingMessage } from 'node:http';
import { AppError, busy } from '../base/errors.ts';
import { MemoryBudget } from './memory-budget.ts';
import { httpLimits } from './http-limits.ts';

/**
 * Pieces are concatenated when there are this many: a client can send pieces of one byte, each of which takes hundreds of bytes. With a
 * larger number a body that counts as small could hold several times what a small body may.
 */
const looseMax = 128;

const ofAll = new MemoryBudget(httpLimits.bodiesBytesMax);

/**
 * Reads the bytes of a body. Throws payload_too_large, at once when the announced length is too large, and unavailable when the bodies
 * of all clients together are. Bytes that arrive after that are discarded.
 */
export function readBody(payload: IncomingMessage, budget = ofAll): Promise<Buffer> {
  const announced = Number(payload.headers['content-length'] ?? 0);
  if (announced > httpLimits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let looseCount = 0;
    let length = 0;
    const refuse = (error: Error): void => {
      payload.off('data', take);
      pieces.length = 0;
      budget.release(giveUp);
      reject(error);
    };
    const giveUp = (): void => refuse(busy());
    const take = (piece: Buffer): void => {
      length += piece.length;
      if (length > httpLimits.bodyBytesMax) return refuse(tooLarge());
      pieces.push(piece);
      looseCount += 1;
      if (looseCount === looseMax) {
        pieces.push(Buffer.concat(pieces.splice(-looseMax)));
        looseCount = 0;
      }
      if (length > httpLimits.smallBodyBytesMax) budget.hold(giveUp, length);
    };
    payload.on('data', take);
    payload.once('error', refuse);
    payload.once('end', () => {
      budget.release(giveUp);
      resolve(Buffer.concat(pieces));
    });
  });
}

function tooLarge(): AppError {
  return new AppError('payload_too_large', 'Request entity too large.');
}
