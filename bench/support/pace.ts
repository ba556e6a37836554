import { AskingConnection } from './asking-connection.ts';

export interface Pace {
  readonly url: string;
  /** Requests a second, each begun when it is due, whether or not those before it have been answered. */
  readonly rate: number;
  readonly seconds: number;
  /** What request number `n`, from 0, POSTs; without it, all are GETs. */
  readonly body?: (n: number) => string;
  /** Called as soon as a request is answered, with how long it took. */
  readonly onAnswer?: (n: number, ms: number) => void;
}

interface Due {
  readonly n: number;
  readonly startMs: number;
}

/** More wait for each other than at any pace that a service can keep up with. */
const connectionsMax = 64;

/**
 * Asks at a steady pace; how long each took, in milliseconds, with what it has waited for a connection. autocannon tells whole
 * milliseconds, of which a quiet view takes less than one. Throws when an answer is no 2xx.
 */
export async function pace({ url, rate, seconds, body, onAnswer }: Pace): Promise<readonly number[]> {
  const count = Math.ceil(rate * seconds);
  const connections = await Promise.all(
    Array.from({ length: connectionsMax }, () => AskingConnection.open(url)),
  );
  const idle = [...connections];
  const due: Due[] = [];
  const times: number[] = [];
  const done = Promise.withResolvers<void>();
  const askNext = (): void => {
    const [connection, next] = [idle.at(-1), due[0]];
    if (connection === undefined || next === undefined) return;
    idle.pop();
    due.shift();
    connection.ask(body?.(next.n)).then(() => {
      const ms = performance.now() - next.startMs;
      times.push(ms);
      onAnswer?.(next.n, ms);
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
      due.push({ n: begun, startMs: nowMs });
      askNext();
    }
  }, 1);
  await done.promise.finally(() => clearInterval(timer));
  for (const connection of connections) connection.close();
  return times;
}
