import { Client } from 'pg';
import { toPostgresUrl } from './postgres-pool.ts';

/** The delay before reconnecting. Notifications that are missed meanwhile are only hints: their readers also poll. */
const reconnectMs = 1_000;

export interface ListenOptions {
  readonly url: string;
  readonly channel: 'chancery_wake' | 'chancery_realtime';
  readonly onMessage: (payload: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Listens to a channel over a connection of its own: a LISTEN belongs to its session, which a pool may close or replace. */
export function listenPostgres(options: ListenOptions): { stop(): Promise<void> } {
  const listener = new Listener(options);
  listener.connect();
  return listener;
}

class Listener {
  readonly #options: ListenOptions;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: ListenOptions) {
    this.#options = options;
  }

  connect(): void {
    const client = new Client({ connectionString: toPostgresUrl(this.#options.url), keepAlive: true });
    this.#client = client;
    client.on('notification', ({ payload }) => this.#options.onMessage(payload ?? ''));
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client));
    client
      .connect()
      // The session is idle between notifications; the role's default may end idle sessions.
      .then(() => client.query(`SET idle_session_timeout = 0; LISTEN ${this.#options.channel}`))
      .catch((error: unknown) => this.#lost(client, error));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    // Without the protocol's Terminate: a frozen server, or a network that swallows packets, would never complete it.
    this.#client?.connection.stream.destroy();
    await this.#client?.end().catch(() => undefined);
  }

  #lost(client: Client, error?: unknown): void {
    if (this.#isStopped || this.#client !== client) return;
    this.#client = undefined;
    if (error !== undefined) this.#options.onError(error);
    client.end().catch(() => undefined);
    this.#timer = setTimeout(() => this.connect(), reconnectMs).unref();
  }
}
