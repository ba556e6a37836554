import { request, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/** What a follower was told: `update <id> <number>`, or `resync`. */
export type Told = string;

const pauseMs = 20;

/** A client that follows a collection: it connects to whichever server there is, and goes on behind its last cursor. */
export class Follower {
  readonly told: Told[] = [];
  /** How often it has connected. */
  connections = 0;
  readonly #url: () => string | undefined;
  readonly #authorization: string | undefined;
  #cursor = '';
  #isOver = false;
  #response: IncomingMessage | undefined;
  readonly #following: Promise<void>;

  constructor(url: () => string | undefined, authorization: string | undefined) {
    this.#url = url;
    this.#authorization = authorization;
    this.#following = this.#follow();
  }

  /** Whether it has a cursor: before that, what it misses is missed. */
  get hasBegun(): boolean {
    return this.#cursor !== '';
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#response?.destroy();
    await this.#following;
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      const url = this.#url();
      // A server that dies ends the connection, or refuses the next.
      if (url !== undefined) await this.#connect(url).catch(() => undefined);
      await wait(pauseMs);
    }
  }

  async #connect(url: string): Promise<void> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${url}/api/realtime`, { agent: false }, resolve).on('error', reject).end();
    });
    this.#response = response;
    if (this.#isOver) response.destroy();
    let text = '';
    response.setEncoding('utf8');
    for await (const piece of response) {
      text += String(piece);
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) await this.#take(url, frame);
    }
  }

  async #take(url: string, frame: string): Promise<void> {
    const [, event, data] = /^id:.*\nevent:(.*)\ndata:(.*)$/.exec(frame) ?? [];
    if (data === undefined) return;
    // What the contract says that there is.
    const message = JSON.parse(data) as Message;
    if (event === 'PB_CONNECT') return this.#subscribe(url, message.clientId);
    const { action, record, cursor } = message;
    this.#cursor = cursor;
    this.told.push(action === 'resync' ? action : `${action} ${record.id} ${record.number}`);
  }

  async #subscribe(url: string, clientId: string): Promise<void> {
    const options = encodeURIComponent(JSON.stringify({ query: { since: this.#cursor } }));
    const answer = await fetch(`${url}/api/realtime`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(this.#authorization !== undefined && { authorization: this.#authorization }),
      },
      body: JSON.stringify({ clientId, subscriptions: [`posts/*?options=${options}`] }),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    this.connections += 1;
  }
}

interface Message {
  readonly clientId: string;
  readonly action: string;
  readonly record: { readonly id: string; readonly number: number };
  readonly cursor: string;
}
