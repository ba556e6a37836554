import type { IncomingMessage } from 'node:http';
import { AppError } from '../base/errors.ts';
import { httpLimits } from './http-limits.ts';

/** So many are put together: a piece of one byte, as clients can send them, takes hundreds as long as it is by itself. */
const looseMax = 1_024;

/** The bytes of a body. Throws payload_too_large, at once where that is announced; what still comes then goes nowhere. */
export function readBody(payload: IncomingMessage): Promise<Buffer> {
  const announced = Number(payload.headers['content-length'] ?? 0);
  if (announced > httpLimits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let looseCount = 0;
    let length = 0;
    const take = (piece: Buffer): void => {
      length += piece.length;
      if (length > httpLimits.bodyBytesMax) {
        payload.off('data', take);
        pieces.length = 0;
        return reject(tooLarge());
      }
      pieces.push(piece);
      looseCount += 1;
      if (looseCount < looseMax) return;
      pieces.push(Buffer.concat(pieces.splice(-looseMax)));
      looseCount = 0;
    };
    payload.on('data', take);
    payload.once('error', reject);
    payload.once('end', () => resolve(Buffer.concat(pieces)));
  });
}

function tooLarge(): AppError {
  return new AppError('payload_too_large', 'Request entity too large.');
}
