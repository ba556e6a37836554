import { setTimeout as sleep } from 'node:timers/promises';

/** Where a receiver (receiver-server.ts) listens. */
interface ReceiverAddress {
  readonly url: string;
}

const pollMs = 5;

/** Returns how many webhooks a receiver has taken so far. */
export async function readTaken({ url }: ReceiverAddress): Promise<number> {
  return Number(await (await fetch(url)).text());
}

/** Waits until a receiver has taken so many. */
export async function awaitTaken(receiver: ReceiverAddress, count: number): Promise<void> {
  while ((await readTaken(receiver)) < count) await sleep(pollMs);
}

/** Returns how many requests are open at a receiver, and how many were at the most. */
export async function readOpen({ url }: ReceiverAddress): Promise<readonly [open: number, most: number]> {
  // Its answer has this form.
  return (await (await fetch(`${url}/open`)).json()) as [number, number];
}

/** From now on it answers 200, answers 503, or does not answer. */
export async function turnReceiver(
  { url }: ReceiverAddress,
  to: 'well' | 'failing' | 'silent',
): Promise<void> {
  await fetch(`${url}/${to}`, { method: 'PUT' });
}
