import { AskingConnection } from './asking-connection.ts';

export interface Pace {
  readonly url: string;
  /** Requests a second, each begun when it is due, whether or not those before it have been answered. */
  readonly rate: number;
  readonly seconds: number;
}

/** More wait for each other than at any pace that a service can keep up with. */
const connectionsMax = 64;

/**
 * GETs at a steady pace; how long each took, in milliseconds, with what it has waited for a connection. autocannon tells whole
 * milliseconds, of which a quiet view takes less than one. Throws when an answer is no 200.
 */
export async function pace({ url, rate, seconds }: Pace): Promise<readonly number[]> {
  const count = Math.ceil(rate * seconds);
  const connections = await Promise.all(
    Array.from({ length: connectionsMax }, () => AskingConnection.open(url)),
  );
  const idle = [...connections];
  const dueMs: number[] = [];
  const times: number[] = [];
  const done = Promise.withResolvers<void>();
  const askNext = (): void => {
    const [connection, startMs] = [idle.at(-1), dueMs[0]];
    if (connection === undefined || startMs === undefined) return;
    idle.pop();
    dueMs.shift();
    connection.ask().then(() => {
      times.push(performance.now() - startMs);
      idle.push(connection);
      if (times.length === count) done.resolve();
      else askNext();
    }, done.reject);
  };
  const firstMs = performance.now();
  let begun = 0;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (; begun < count && begun < ((nowMs - firstMs) / 1_000) * rate; begun += 1) {
      dueMs.push(nowMs);
      askNext();
    }
  }, 1);
  await done.promise.finally(() => clearInterval(timer));
  for (const connection of connections) connection.close();
  return times;
}
