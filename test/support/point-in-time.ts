import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';
import { type Environment, serveMain, type ServingMain } from './main-process.ts';
import { Receiver } from './receiver.ts';

const page = readFileSync(new URL('../../docs/point-in-time.md', import.meta.url), 'utf8');

/** Returns the text of the only block of docs/point-in-time.md in a language, such as `yaml` or `sh restore.sh`. */
export function pageBlock(language: string): string {
  const [block, ...others] = page
    .matchAll(/^```([^\n]*)\n(.*?)^```$/gms)
    .filter(([, name]) => name === language);
  assert.ok(block?.[2] !== undefined && others.length === 0, `one block ${language}`);
  return block[2];
}

/** Types the commands of a block, with these variables. Returns what they print. */
export function typeBlock(name: string, environment: Environment): string {
  const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', pageBlock(`sh ${name}`)], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${name}: ${stdout}${stderr}`);
  return stdout;
}

interface Answer {
  readonly status: number;
  /** Typed loosely: tests look into it. */
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any
}

/** A service in a process of its own that writes go to while it is copied, with a receiver of its webhooks. */
export class CopiedService {
  readonly receiver: Receiver;
  readonly serving: ServingMain;
  /** Where the instance is: the URL of the service, or a path below it. */
  readonly #url: string;
  readonly #token: string;

  private constructor(serving: ServingMain, receiver: Receiver, { url, token }: Instance) {
    this.serving = serving;
    this.receiver = receiver;
    this.#url = url;
    this.#token = token;
  }

  static async start(
    t: TestContext,
    data: string,
    { environment, receiver }: { readonly environment: Environment; readonly receiver?: Receiver },
  ): Promise<CopiedService> {
    const serving = await serveMain(t, data, { environment });
    const own = receiver ?? (await Receiver.open());
    if (receiver === undefined) t.after(() => own.close());
    return new CopiedService(serving, own, await signIn(serving.url));
  }

  /** Returns the same service for another instance. */
  async of(slug: string): Promise<CopiedService> {
    return new CopiedService(this.serving, this.receiver, await signIn(`${this.serving.url}/i/${slug}`));
  }

  ask(path: string, options: Asking = {}): Promise<Answer> {
    return ask(this.#url, path, { ...options, token: this.#token });
  }

  /** Creates the collection `posts` and an endpoint that is tried again each second. */
  async setUp(): Promise<void> {
    const fields = [
      { name: 'writer', type: 'text' },
      { name: 'number', type: 'number' },
    ];
    assert.equal((await this.ask('/api/collections', { body: { name: 'posts', fields } })).status, 200);
    const endpoint = { url: this.receiver.url, schedule: Array.from({ length: 50 }, () => 1) };
    assert.equal((await this.ask('/api/webhooks/endpoints', { body: endpoint })).status, 201);
  }

  /** Kills the process without a word. */
  async kill(): Promise<void> {
    this.serving.process.kill('SIGKILL');
    await this.serving.process.ended;
  }

  /** The numbers of the posts of a writer, in order. */
  async numbersOf(writer: string): Promise<readonly number[]> {
    const filter = encodeURIComponent(`writer = '${writer}'`);
    const query = `perPage=1000&skipTotal=true&sort=number&fields=number&filter=${filter}`;
    const { json } = await this.ask(`/api/collections/posts/records?${query}`);
    return (json.items as readonly { readonly number: number }[]).map(({ number }) => number); // As the API describes it.
  }

  /** Resolves when the receiver was sent each post that is stored, and a new one. */
  async webhooksGoOn(): Promise<void> {
    const { json } = await this.ask('/api/collections/posts/records', { body: { writer: 'after' } });
    const { json: all } = await this.ask('/api/collections/posts/records?perPage=1000&fields=id');
    // As the API describes it.
    const ids = (all.items as readonly { readonly id: string }[]).map(({ id }) => id);
    assert.ok(ids.includes(String(json.id)));
    await eventually(
      'all webhooks',
      () => {
        const sent = new Set(
          this.receiver.requests.map(({ body }) => String(JSON.parse(body.toString()).data.id)),
        );
        return ids.every((id) => sent.has(id));
      },
      60_000,
    );
  }
}

export const superuser = { email: 'root@example.com', password: 'correct horse' };

interface Instance {
  readonly url: string;
  readonly token: string;
}

async function signIn(url: string): Promise<Instance> {
  const answer = await ask(url, '/api/collections/_superusers/auth-with-password', {
    body: { identity: superuser.email, password: superuser.password },
  });
  assert.equal(answer.status, 200);
  return { url, token: String(answer.json.token) };
}

interface Asking {
  readonly method?: string;
  readonly body?: object;
}

async function ask(
  url: string,
  path: string,
  { method, body, token }: Asking & { readonly token?: string },
): Promise<Answer> {
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    ...(token !== undefined && { authorization: token }),
  };
  const response = await fetch(`${url}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
}

/** Writers that create one post after the other, each with the next number. */
export class Writers {
  /** How many posts of each writer were acknowledged. */
  readonly acknowledged = new Map<string, number>();
  readonly #done: Promise<unknown>;
  #isOver = false;

  constructor(service: CopiedService, names: readonly string[]) {
    this.#done = Promise.all(names.map((name) => this.#write(service, name)));
  }

  /** Resolves when each writer was acknowledged so many posts. */
  async waitFor(count: number): Promise<void> {
    await eventually(`${count} posts of each writer`, () =>
      this.acknowledged.values().every((each) => each >= count),
    );
  }

  /** Ends the writers, which also end when the service is gone. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #write(service: CopiedService, writer: string): Promise<void> {
    this.acknowledged.set(writer, 0);
    for (let number = 1; !this.#isOver; number += 1) {
      const post = service.ask('/api/collections/posts/records', { body: { writer, number } });
      const status = await post.then(
        (answer) => answer.status,
        () => 0,
      );
      if (status !== 201) return;
      this.acknowledged.set(writer, number);
    }
  }
}

/** Fails unless a writer's posts are its first ones without a hole, and at least so many. */
export function assertPrefix(numbers: readonly number[], countMin: number): void {
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => at + 1),
  );
  assert.ok(numbers.length >= countMin, `${numbers.length} of ${countMin}`);
}
