import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface Pace {
  readonly url: string;
  /** Requests a second, each begun when it is due, whether or not those before it have been answered. */
  readonly rate: number;
  readonly seconds: number;
}

/** More wait for each other than at any pace that a service can keep up with. */
const socketsMax = 64;

/**
 * GETs at a steady pace; how long each took from its first byte to the last of its answer, in milliseconds. autocannon tells whole
 * milliseconds, of which a quiet view takes less than one. Throws when an answer is no 200.
 */
export async function pace({ url, rate, seconds }: Pace): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  const times: number[] = [];
  const begun: Promise<void>[] = [];
  const startMs = performance.now();
  const count = Math.ceil(rate * seconds);
  while (begun.length < count) {
    const due = Math.min(count, Math.ceil(((performance.now() - startMs) / 1_000) * rate));
    while (begun.length < due) begun.push(timeOne(url, agent).then((ms) => void times.push(ms)));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(begun);
  agent.destroy();
  return times;
}

async function timeOne(url: string, agent: Agent): Promise<number> {
  const startMs = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request(url, { agent }, (response) => {
    buffer(response).then(() => {
      if (response.statusCode === 200) resolve(performance.now() - startMs);
      else reject(new Error(`${url}: ${response.statusCode}`));
    }, reject);
  });
  asked.on('error', reject);
  asked.end();
  return promise;
}
