import { type Child, startChild } from './child.ts';

/** Clients of realtime in a process of their own (subscriber-server.ts). */
export interface Subscribers {
  /** Opens connections, each with one subscription. */
  connect(connecting: Connecting): Promise<void>;
  /** Waits until records have been told to so many. Throws when they are not. */
  awaitTold(awaited: Awaited): Promise<readonly Told[]>;
  countOpen(): Promise<number>;
  /** Closes all connections. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

export interface Connecting {
  /** Of the service. */
  readonly url: string;
  readonly topic: string;
  readonly count: number;
  /** Of those who subscribe, in turn; nobody has signed in without them. */
  readonly tokens?: readonly string[];
}

export interface Awaited {
  /** Of records. */
  readonly ids: readonly string[];
  /** How often each of them is told. */
  readonly count: number;
}

/** When a record was told, in milliseconds by `monotonicMs`. */
export interface Told {
  readonly firstMs: number;
  readonly lastMs: number;
  /** How often it was told. */
  readonly count: number;
}

export async function startSubscribers(): Promise<Subscribers> {
  const child = await startChild('bench/support/subscriber-server.ts', []);
  return {
    connect: async (connecting) => void (await ask(child, '/connect', connecting)),
    // Its answers have these forms.
    awaitTold: async (awaited) => (await ask(child, '/told', awaited)) as readonly Told[],
    countOpen: async () => Number(await ask(child, '/')),
    close: async () => void (await ask(child, '/close', {})),
    stop: () => child.stop(),
  };
}

async function ask({ url }: Child, path: string, body?: object): Promise<unknown> {
  const options = body === undefined ? {} : { method: 'PUT', body: JSON.stringify(body) };
  const response = await fetch(url + path, options);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return JSON.parse(text);
}
