import { unreachable } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import type { Caller } from '../rules/caller.ts';
import type { Sealer } from '../secrets/seal.ts';

/** A request under an `Idempotency-Key`, as two digests. They are keyed with a secret of the instance, as a body may hold a password. */
export interface IdempotentRequest {
  /** Digest of caller, method, path and key: equal for all repetitions of a request. */
  readonly id: string;
  /** Digest of everything else that decides what is done. It tells a repetition from another request under the same key. */
  readonly content: string;
}

export interface RequestParts {
  readonly sealer: Sealer;
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly ifMatch: string | undefined;
  /** The parsed body, since the bytes of a multipart body have another boundary each time. */
  readonly body: unknown;
}

const KEY = /^[\x20-\x7e]{1,255}$/;

/** Throws bad_request for an invalid key. */
export function idempotentRequest(key: string, parts: RequestParts): IdempotentRequest {
  if (!KEY.test(key)) {
    throw new AppError('bad_request', 'Expected an Idempotency-Key of 1 to 255 printable ASCII characters.');
  }
  const { sealer, caller, method, path, query, ifMatch, body } = parts;
  return {
    id: sealer.fingerprint(JSON.stringify([callerText(caller), method, path, key])),
    content: sealer.fingerprint(JSON.stringify([query, ifMatch ?? null, body ?? null])),
  };
}

/** Identifies the caller. All guests count as one, because nothing tells them apart. */
function callerText(caller: Caller): string {
  switch (caller.kind) {
    case 'guest':
      return 'guest';
    case 'user':
      return `user ${caller.collectionId} ${caller.id}`;
    case 'superuser':
      return `${caller.key === undefined ? 'superuser' : 'key'} ${caller.id}`;
    default:
      return unreachable(caller);
  }
}
