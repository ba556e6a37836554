import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../base/thread-environment.ts';
import { boundedQueue } from './bounded-queue.ts';

/** A question to bcrypt-worker.ts, which answers true or false, one at a time. */
export interface BcryptQuestion {
  readonly password: string;
  readonly hash: string;
}

/** `$2a$10$`, 22 characters of salt and 31 of hash. Variants other than these three come from broken implementations. */
const HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** The exponent of the work, stated by the hash: from 15 on a single row could hold up all other sign-ins for seconds. */
const COST = { min: 4, max: 14 } as const;

/** bcrypt ignores all bytes beyond these. A longer password could never be set, so it is wrong, even if its beginning is right. */
const passwordBytesMax = 72;

/** One thread is enough: an imported account needs it only until its first sign-in. */
const enqueue = boundedQueue({ runningMax: 1, waitingMax: 50 });

/** True when {@link verifyBcrypt} can accept some password for this hash. */
export function isBcryptHash(hash: string): boolean {
  const cost = Number(HASH.exec(hash)?.[1]);
  return cost >= COST.min && cost <= COST.max;
}

/** Returns whether this is the password that was hashed. Throws AppError `unavailable` when too many wait. */
export async function verifyBcrypt(password: string, hash: string): Promise<boolean> {
  // Verified even when it is too long, so that timing does not reveal why a password is refused.
  const isRight = await enqueue(() => ask({ password, hash }));
  return isRight && Buffer.byteLength(password, 'utf8') <= passwordBytesMax;
}

let idle: Worker | undefined;

/** Asks the thread, which starts with the first question and keeps the process alive only while it works. */
async function ask(question: BcryptQuestion): Promise<boolean> {
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
  return new Worker(new URL('./bcrypt-worker.ts', import.meta.url), {
    env: threadEnvironment(),
    name: 'bcrypt',
  });
}
