import type { Random } from './random.ts';

export type ChangeKind = 'create' | 'update' | 'delete';

/** `unknown`: no answer, or a 5xx: it may have happened or not. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** One change that was asked for. Its token stands in the record, so that a read tells which change it sees. */
export interface Change {
  readonly kind: ChangeKind;
  readonly token: string;
  outcome: Outcome;
  readonly status: number;
}

/** Everything that was asked for one record, in order: only one client writes it. */
export interface RecordStory {
  readonly id: string;
  readonly changes: Change[];
}

const updateShare = 0.25;
const deleteShare = 0.08;
const idLength = 15;
const bodyLengthMax = 1_500;

/** What a record holds beside its token: long enough that a torn write would show, and known from the token alone. */
export function textOf(token: string): string {
  let sum = 0;
  for (const character of token) sum = (sum * 31 + character.charCodeAt(0)) % bodyLengthMax;
  return `${token} `.repeat(Math.ceil((sum + 1) / (token.length + 1)));
}

/** One client: writes until it is told to stop or the server is gone. Its stories outlive the server. */
export class Client {
  readonly stories: RecordStory[] = [];
  /** Changes that were answered with success, in all lives. */
  acknowledged = 0;
  readonly #name: string;
  readonly #random: Random;
  #count = 0;

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  async run(url: string, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const change = await this.#write(`${url}/api/collections/posts/records`);
      if (change.outcome === 'acknowledged') this.acknowledged += 1;
      // No answer at all: the server has died or is about to be gone.
      if (change.status === 0) return;
    }
  }

  #write(url: string): Promise<Change> {
    const story = this.#chooseStory();
    const token = `${this.#name}-${(this.#count += 1)}`;
    if (story === undefined) {
      const created: RecordStory = { id: this.#newId(), changes: [] };
      this.stories.push(created);
      const body = { id: created.id, title: token, body: textOf(token) };
      return ask(created, { kind: 'create', token }, { method: 'POST', url, body });
    }
    const recordUrl = `${url}/${story.id}`;
    if (this.#random.unit() < deleteShare / (deleteShare + updateShare)) {
      return ask(story, { kind: 'delete', token }, { method: 'DELETE', url: recordUrl });
    }
    const body = { title: token, body: textOf(token) };
    return ask(story, { kind: 'update', token }, { method: 'PATCH', url: recordUrl, body });
  }

  /** A record that is known to be there; undefined means that a new one is made. */
  #chooseStory(): RecordStory | undefined {
    if (this.#random.unit() > updateShare + deleteShare) return undefined;
    const story = this.#random.pick(this.stories.slice(-20));
    const [first] = story?.changes ?? [];
    const last = story?.changes.at(-1);
    return first?.outcome === 'acknowledged' && last?.kind !== 'delete' ? story : undefined;
  }

  #newId(): string {
    const number = `${this.#name}x${this.#count}x`.replaceAll(/[^a-z0-9]/g, '');
    return (
      number +
      Math.floor(this.#random.unit() * 36 ** 6)
        .toString(36)
        .padStart(idLength, '0')
        .slice(number.length)
    );
  }
}

async function ask(
  story: RecordStory,
  change: Pick<Change, 'kind' | 'token'>,
  request: { readonly method: string; readonly url: string; readonly body?: unknown },
): Promise<Change> {
  const status = await statusOf(request);
  const outcome = status === 0 || status >= 500 ? 'unknown' : status < 300 ? 'acknowledged' : 'refused';
  const done: Change = { ...change, outcome, status };
  story.changes.push(done);
  return done;
}

/** 0 when no answer came. */
async function statusOf(request: {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
}): Promise<number> {
  const { method, url, body } = request;
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await fetch(url, { method, headers: { 'content-type': 'application/json' }, ...content });
  } catch {
    return 0;
  }
  // The status is the acknowledgement; the rest of the answer may be cut off with the server.
  await response.arrayBuffer().catch(() => undefined);
  return response.status;
}
