import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../base/thread-environment.ts';
import { boundedQueue } from './bounded-queue.ts';

/** What goes to bcrypt-worker.ts, which answers with true or false, one after the other. */
export interface BcryptQuestion {
  readonly password: string;
  readonly hash: string;
}

/** `$2a$10$`, 22 characters of salt and 31 of hash. Others than these three came of broken implementations. */
const HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** Each step doubles the work, and the hash says how many: from 15 on one row could hold up everybody's sign-in for seconds. */
const COST = { min: 4, max: 14 } as const;

/** bcrypt looks at no more, and two passwords that begin alike would be one. Nobody could choose a longer one, so none is right. */
const passwordBytesMax = 72;

/** One thread, as this is only ever asked once for each imported account. */
const enqueue = boundedQueue({ runningMax: 1, waitingMax: 50 });

/** Whether {@link verifyBcrypt} can say yes to this hash. */
export function isBcryptHash(hash: string): boolean {
  const cost = Number(HASH.exec(hash)?.[1]);
  return cost >= COST.min && cost <= COST.max;
}

/** Whether the password is the one that such a hash was made of. AppError `unavailable` when too many wait. */
export async function verifyBcrypt(password: string, hash: string): Promise<boolean> {
  // Asked all the same when it is too long: time tells nobody what is wrong with a password.
  const isRight = await enqueue(() => ask({ password, hash }));
  return isRight && Buffer.byteLength(password, 'utf8') <= passwordBytesMax;
}

let idle: Worker | undefined;

/** The thread is made when it is first needed, and keeps the process alive only while it works. */
async function ask(question: BcryptQuestion): Promise<boolean> {
  const worker = idle ?? startWorker();
  idle = undefined;
  worker.ref();
  try {
    worker.postMessage(question, []);
    // Rejects with the error that the thread dies of, should it.
    const answer: readonly unknown[] = await once(worker, 'message');
    // Only one that has answered is asked again.
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
