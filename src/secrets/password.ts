import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { AppError, busy } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { startThread } from '../base/thread.ts';

/** The work of a hash, in the parameters of PHC strings: KiB of memory, passes over it, lanes. */
interface PasswordCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
}

interface ParsedHash extends PasswordCost {
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** OWASP's minimum for argon2id, promised by http-api A12; it takes about 17 ms. */
const standardCost: PasswordCost = { memoryKib: 19_456, passes: 2, lanes: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;
const passwordBytesMax = 512;

/** An imported hash states its own cost: without limits one row could demand all memory at each sign-in. */
const memoryKibMax = 262_144;
const passesMax = 16;
const lanesMax = 16;

/**
 * All instances share the processors. Hashes run on libuv's pool, which has four threads; one is left for commits, which are synced
 * there. Without a limit each sign-in of a burst would hold 19 MiB and all would be late, instead of a few refused.
 */
const hashing = new FairQueue({
  runningMax: Math.min(availableParallelism(), 3),
  waitingMax: 400,
  waitingOfInstanceMax: 100,
  waitingOfAddressMax: 50,
});

/** Hashes and verifies passwords. Only tests of something else set another cost than the default. */
export class PasswordHasher {
  readonly #cost: PasswordCost;
  /** Stands in for the hash of a user that does not exist. No password can be found whose tag is all zeroes. */
  readonly #dummy: ParsedHash;

  constructor(cost: PasswordCost = standardCost) {
    this.#cost = cost;
    this.#dummy = { ...cost, salt: Buffer.alloc(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) };
  }

  /** Returns `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`. AppErrors: `bad_request` (length), `unavailable` (too many wait). */
  async hash(password: string, share: Share): Promise<string> {
    if (!hasLength(password))
      throw new AppError('bad_request', `A password has 1 to ${passwordBytesMax} bytes.`);
    const { memoryKib, passes, lanes } = this.#cost;
    const salt = randomBytes(SALT_BYTES);
    const tag = await derive(password, { ...this.#dummy, salt }, share);
    return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${toPhc(salt)}$${toPhc(tag)}`;
  }

  /**
   * Returns whether this is the password that was hashed. For a user that does not exist pass undefined: the answer is false after the
   * same work, so that timing does not reveal who exists. An imported bcrypt hash takes longer, until a sign-in replaces it. Throws
   * AppError `unavailable` when too many wait.
   */
  async verify(password: string, hash: string | undefined, share: Share): Promise<boolean> {
    if (!hasLength(password)) return false;
    if (hash !== undefined && isBcryptHash(hash)) return verifyBcrypt(password, hash, share);
    // An unsupported or damaged hash matches nothing, also after the same work.
    const parsed = (hash === undefined ? undefined : parseHash(hash)) ?? this.#dummy;
    const tag = await derive(password, parsed, share);
    return timingSafeEqual(tag, parsed.tag) && parsed !== this.#dummy;
  }

  /** True when a hash is weaker than what `hash` makes now, as every bcrypt hash is; a stronger one is kept. */
  needsRehash(hash: string): boolean {
    const parsed = parseHash(hash);
    if (parsed === undefined) return true;
    const isWeaker = parsed.memoryKib < this.#cost.memoryKib || parsed.passes < this.#cost.passes;
    return isWeaker || parsed.salt.length < SALT_BYTES || parsed.tag.length < TAG_BYTES;
  }
}

/** True when a PasswordHasher can accept some password for this hash. Importers check this before they store one. */
export function isSupportedHash(hash: string): boolean {
  return parseHash(hash) !== undefined || isBcryptHash(hash);
}

function hasLength(password: string): boolean {
  const bytes = Buffer.byteLength(password, 'utf8');
  return bytes >= 1 && bytes <= passwordBytesMax;
}

function derive(
  password: string,
  { memoryKib, passes, lanes, salt, tag }: ParsedHash,
  share: Share,
): Promise<Buffer> {
  const parameters = {
    message: password,
    nonce: salt,
    memory: memoryKib,
    passes,
    parallelism: lanes,
    tagLength: tag.length,
  };
  const work = (): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      argon2('argon2id', parameters, (error, derived) => (error === null ? resolve(derived) : reject(error)));
    });
  return hashing.run(share, work) ?? Promise.reject(busy());
}

/** The PHC string format, only in its canonical form; numbers have no leading zeroes. */
const PHC =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,6}),t=([1-9]\d?),p=([1-9]\d?)\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

function parseHash(hash: string): ParsedHash | undefined {
  const match = PHC.exec(hash);
  if (match === null) return undefined;
  const [memoryKib = 0, passes = 0, lanes = 0] = match.slice(1, 4).map(Number);
  const salt = fromPhc(match[4] ?? '');
  const tag = fromPhc(match[5] ?? '');
  if (salt === undefined || tag === undefined) return undefined;
  // RFC 9106: at least 8 blocks of memory per lane.
  if (memoryKib > memoryKibMax || memoryKib < 8 * lanes || passes > passesMax || lanes > lanesMax)
    return undefined;
  return { memoryKib, passes, lanes, salt, tag };
}

/** PHC strings hold standard base64 without padding. */
function toPhc(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

function fromPhc(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return toPhc(bytes) === text ? bytes : undefined;
}

/** A question to bcrypt-worker.ts, which answers true or false, one at a time. */
export interface BcryptQuestion {
  readonly password: string;
  readonly hash: string;
}

/** `$2a$10$`, 22 characters of salt and 31 of hash. Variants other than these three come from broken implementations. */
const HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** The exponent of the work, stated by the hash: from 15 on a single row could hold up all other sign-ins for seconds. */
const BCRYPT_COST = { min: 4, max: 14 } as const;

/** bcrypt ignores all bytes beyond these. A longer password could never be set, so it is wrong, even if its beginning is right. */
const bcryptBytesMax = 72;

/** One thread is enough: an imported account needs it only until its first sign-in. */
const verifying = new FairQueue({
  runningMax: 1,
  waitingMax: 200,
  waitingOfInstanceMax: 50,
  waitingOfAddressMax: 50,
});

/** True when {@link verifyBcrypt} can accept some password for this hash. */
function isBcryptHash(hash: string): boolean {
  const cost = Number(HASH.exec(hash)?.[1]);
  return cost >= BCRYPT_COST.min && cost <= BCRYPT_COST.max;
}

/** Returns whether this is the password that was hashed. Throws AppError `unavailable` when too many wait. */
export async function verifyBcrypt(password: string, hash: string, share: Share): Promise<boolean> {
  // Verified even when it is too long, so that timing does not reveal why a password is refused.
  const answer = verifying.run(share, () => verifyInThread({ password, hash }));
  if (answer === undefined) throw busy();
  const isRight = await answer;
  return isRight && Buffer.byteLength(password, 'utf8') <= bcryptBytesMax;
}

let idle: Worker | undefined;

/** Asks the thread, which starts with the first question and keeps the process alive only while it works. */
async function verifyInThread(question: BcryptQuestion): Promise<boolean> {
  const worker = idle ?? startWorker();
  idle = undefined;
  worker.ref();
  try {
    worker.postMessage(question, []);
    // Rejects with the error if the thread dies.
    const answer: readonly unknown[] = await once(worker, 'message');
    // Only a thread that has answered is used again.
    idle = worker;
    return answer[0] === true;
  } finally {
    worker.unref();
  }
}

function startWorker(): Worker {
  return startThread(new URL('./bcrypt-worker.ts', import.meta.url), { name: 'bcrypt' });
}
