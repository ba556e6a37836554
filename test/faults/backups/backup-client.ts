import { type BackupWrite, accountPassword, fileContent, isMember } from './backup-writers.ts';
import { superuser } from './prepare-backups.ts';
import type { World } from './worlds.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** An answer; its status is 0 when none came. */
export interface ClientAnswer {
  readonly status: number;
  readonly json: Json;
  readonly text: string;
}

/** A place in the feed that a client has from before a restore. */
interface FeedPlace {
  readonly cursor: string;
  /** The id of the last event that was read. */
  readonly eventId: string;
}

/** A check of an answer is one of a sample: a run has many restores. */
const sampleMax = 20;
const placesMax = 40;
const answerMsMax = 120_000;

type Report = (text: string) => void;

/** Whoever uses an instance through its backups and restores: with the token, the key, the tags and the places in the feed of before. */
export class BackupClient {
  readonly #url: () => string | undefined;
  readonly #apiKey: string;
  readonly #places: FeedPlace[] = [];
  #token = '';

  constructor(url: () => string | undefined, apiKey: string) {
    this.#url = url;
    this.#apiKey = apiKey;
  }

  async signIn(): Promise<void> {
    const { json } = await this.#send('POST', '/api/collections/_superusers/auth-with-password', {
      body: superuser,
    });
    this.#token = String(json?.token);
  }

  ask(method: string, path: string, body?: object): Promise<ClientAnswer> {
    return this.#send(method, path, { token: this.#token, ...(body && { body }) });
  }

  /** Reads the feed on to its end, and remembers some places in it. */
  async readFeed(): Promise<void> {
    let cursor = this.#places.at(-1)?.cursor ?? '';
    for (;;) {
      const { status, json } = await this.ask('GET', feedPath(cursor));
      // It is of events that are lost: it begins anew.
      if (status === 400) this.#places.length = 0;
      if (status !== 200 || json.items.length === 0) return;
      cursor = json.nextCursor;
      this.#places.push({ cursor, eventId: idsOf(json).at(-1) ?? '' });
      if (this.#places.length > placesMax) this.#places.splice(placesMax / 2, 1);
    }
  }

  /** What clients have from before a restore is still good, as far as it is of what the backup has. */
  async checkRestored(restored: World, writes: readonly BackupWrite[], report: Report): Promise<void> {
    const { status } = await this.ask('GET', '/api/backups');
    if (status !== 200) report(`the token of a superuser was answered with ${status}`);
    const path = '/api/webhooks/endpoints';
    const key = await this.#send('GET', path, { token: `Bearer ${this.#apiKey}` });
    if (key.status !== 200) report(`an API key was answered with ${key.status}`);
    await this.#checkAccount(restored, report);
    await this.#checkTags(restored, writes, report);
    await this.#checkPlaces(restored, report);
  }

  /** Every file that a record names is there, with its bytes. */
  async checkFiles({ records }: World, report: Report): Promise<void> {
    for (const { id, file } of records.values()) {
      if (file === '') continue;
      const { status, text } = await this.ask('GET', `/api/files/posts/${id}/${file}`);
      const [title = ''] = file.split('_');
      if (status === 200 && text === fileContent(title)) continue;
      const now = await this.ask('GET', `/api/collections/posts/records/${id}`);
      // It may have been changed meanwhile.
      if (now.status === 200 && now.json.file === file)
        report(`the file ${file} of ${id} was answered with ${status} and ${text.length} bytes`);
    }
  }

  async #checkAccount({ records }: World, report: Report): Promise<void> {
    const account = [...records.values()].find(({ id }) => isMember(id));
    if (account === undefined) return;
    const body = { identity: `${account.title}@example.com`, password: accountPassword };
    const { status } = await this.#send('POST', '/api/collections/members/auth-with-password', { body });
    if (status !== 200) report(`the account ${account.title} was answered with ${status}`);
  }

  async #checkTags({ records }: World, writes: readonly BackupWrite[], report: Report): Promise<void> {
    const known = writes.filter(({ key, record, etag }) => etag !== '' && records.get(record)?.title === key);
    for (const { key, record, etag } of known.slice(-sampleMax)) {
      const collection = isMember(record) ? 'members' : 'posts';
      const path = `/api/collections/${collection}/records/${record}`;
      const { status, json } = await this.#send('GET', path, { etag });
      if (status === 304 || (status === 200 && json.title !== key) || status === 404) continue;
      report(`the ETag of ${key} was answered with ${status}`);
    }
  }

  async #checkPlaces({ events }: World, report: Report): Promise<void> {
    for (const place of this.#places.splice(0)) {
      const at = events.findIndex(({ id }) => id === place.eventId);
      const { status, json, text } = await this.ask('GET', feedPath(place.cursor));
      if (at === -1) {
        if (status !== 400 || !text.includes('restored from a backup'))
          report(`a cursor of events that are lost was answered with ${status} ${text.slice(0, 200)}`);
        continue;
      }
      if (status !== 200) {
        report(`a cursor of the backup was answered with ${status} ${text.slice(0, 200)}`);
        continue;
      }
      this.#places.push(place);
      const ids = idsOf(json);
      const expected = events.slice(at + 1, at + 1 + ids.length).map(({ id }) => id);
      // What was written since the log was read follows.
      if (expected.some((id, index) => ids[index] !== id))
        report(`a cursor behind ${place.eventId} was answered with ${ids[0]} and not ${expected[0]}`);
    }
  }

  async #send(
    method: string,
    path: string,
    { token, body, etag }: { readonly token?: string; readonly body?: object; readonly etag?: string },
  ): Promise<ClientAnswer> {
    const url = this.#url();
    const headers = {
      ...(token !== undefined && { authorization: token }),
      ...(etag !== undefined && { 'if-none-match': etag }),
      ...(body && { 'content-type': 'application/json' }),
    };
    try {
      if (url === undefined) throw new Error('no server');
      const signal = AbortSignal.timeout(answerMsMax);
      const answer = await fetch(url + path, {
        method,
        headers,
        signal,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
    } catch {
      return { status: 0, text: '', json: undefined };
    }
  }
}

/** The ids of the events on a page of the feed. */
function idsOf({ items }: { readonly items: readonly { readonly id: string }[] }): readonly string[] {
  return items.map(({ id }) => id);
}

function feedPath(cursor: string): string {
  return `/api/webhooks/feed?${new URLSearchParams({ perPage: '25', ...(cursor !== '' && { cursor }) }).toString()}`;
}
