import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startApp } from '../../../src/app.ts';
import { upsertSuperuser } from '../../../src/auth/superuser.ts';
import { onInstance } from '../../../src/open-data-directory.ts';
import { readConfig } from '../../../src/config/config.ts';
import { startTestPostgres } from '../../support/postgres.ts';
import { errorsOnly } from '../errors-only.ts';
import { DyingServers } from '../ledger/dying-servers.ts';
import { environment } from '../prepare-instances.ts';
import { Random } from '../random.ts';
import { Follower } from './follower.ts';

export interface RealtimeRunOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly seed: number;
  readonly kills: number;
}

export interface RealtimeRunResult {
  readonly violations: readonly string[];
  readonly kills: number;
  /** Changes in the log. */
  readonly changes: number;
  /** What all followers were told together. */
  readonly told: number;
  readonly connections: number;
}

const writersCount = 4;
const password = 'correct horse';
const superuser = { identity: 'root@example.com', password };
const records = '/api/collections/posts/records';
const catchUpMsMax = 60_000;

/**
 * Followers of the same records who may see different ones, writers, and servers that are killed: in the end each follower was told exactly
 * what it may see of the log, in the order of the log, once. Who comes back late, and is no superuser, is told the records of now: changes
 * that others have followed may be left out, but never the last one of a record.
 */
export async function realtimeRun(options: RealtimeRunOptions): Promise<RealtimeRunResult> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-realtime-'));
  const database =
    options.engine === 'postgres'
      ? await startTestPostgres({ settings: ['max_connections=150'] })
      : undefined;
  try {
    return await new Run(options, { data, postgres: await database?.createDatabase() }).run();
  } finally {
    await database?.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

interface Place {
  readonly data: string;
  readonly postgres: string | undefined;
}

/** Who follows, and whom `owner` of a record names for it to be seen. */
interface Party {
  readonly name: string;
  readonly sees: (owner: string) => boolean;
  readonly isSuperuser: boolean;
  readonly follower: Follower;
}

class Run {
  readonly #options: RealtimeRunOptions;
  readonly #place: Place;
  readonly #random: Random;
  readonly #servers: DyingServers;
  readonly #violations: string[] = [];
  #number = 0;
  #isWriting = true;

  constructor(options: RealtimeRunOptions, place: Place) {
    this.#options = options;
    this.#place = place;
    this.#random = new Random(options.seed);
    this.#servers = new DyingServers(place, new Random(this.#random.integer(0, 2 ** 31)));
  }

  async run(): Promise<RealtimeRunResult> {
    await this.#prepare();
    const nodes = this.#options.engine === 'postgres' ? 2 : 1;
    for (let node = 0; node < nodes; node += 1) await this.#servers.start();
    const token = await this.#signIn('_superusers', superuser.identity);
    const parties = await this.#begin(token);
    try {
      const writing = Array.from({ length: writersCount }, () => this.#write(token));
      for (let kill = 0; kill < this.#options.kills; kill += 1) {
        await this.#servers.die({ afterMs: this.#random.integer(100, 1_200) });
        await this.#servers.start();
      }
      await wait(200);
      this.#isWriting = false;
      await Promise.all(writing);
      return await this.#check(parties, token);
    } finally {
      this.#isWriting = false;
      for (const { follower } of parties) await follower.stop();
      await this.#servers.kill();
    }
  }

  /** Makes a superuser, whose token makes everything else. */
  async #prepare(): Promise<void> {
    const { data, postgres } = this.#place;
    const place = postgres === undefined ? { data } : { postgres };
    const app = await startApp(
      readConfig({ ...place, port: '0', dev: true }, postgres === undefined ? {} : environment),
      { logger: errorsOnly },
    );
    const [entry] = app.data.directory.all();
    if (entry === undefined) throw new Error('a new folder has its default instance');
    await onInstance(app.data, entry, (instance) => upsertSuperuser(instance, superuser.identity, password));
    await app.stop();
  }

  async #begin(token: string): Promise<readonly Party[]> {
    const ask = (path: string, body: object): Promise<Json> => this.#ask('POST', path, { token, body });
    const rule =
      'owner = "all" || (owner = @request.auth.name && @request.auth.id != "") || secret = @request.auth.name && secret != ""';
    const fields = [
      { name: 'number', type: 'number' },
      { name: 'owner', type: 'text' },
      { name: 'secret', type: 'text', hidden: true },
    ];
    await ask('/api/collections', {
      name: 'posts',
      listRule: rule,
      createRule: '',
      updateRule: '',
      deleteRule: '',
      viewRule: '',
      fields,
    });
    const names = ['ann', 'bob'];
    for (const name of names)
      await ask('/api/collections/users/records', {
        email: `${name}@example.com`,
        name,
        password,
        passwordConfirm: password,
      });
    const url = (): string | undefined => this.#servers.url();
    const party = (name: string, authorization: string | undefined, sees: Party['sees']): Party => ({
      name,
      sees,
      isSuperuser: authorization === token,
      follower: new Follower(url, authorization),
    });
    const users = await Promise.all(
      names.map(async (name) =>
        party(
          name,
          await this.#signIn('users', `${name}@example.com`),
          (owner) => owner === 'all' || owner.split(' ').includes(name),
        ),
      ),
    );
    const parties = [
      ...users,
      party('guest', undefined, (owner) => owner === 'all'),
      party('superuser', token, () => true),
      party('another superuser', token, () => true),
    ];
    // Before the first cursor nothing is promised.
    await this.#until('all followers have begun', async () => {
      await this.#ask('POST', records, { token, body: this.#body('all') });
      return parties.every(({ follower }) => follower.hasBegun);
    });
    return parties;
  }

  /** A record that one may see by its owner and another by a hidden field. */
  #body(owner: string): object {
    const [own = '', secret = ''] = owner.split(' ');
    return { number: (this.#number += 1), owner: own, secret };
  }

  /** Writes as a superuser, as nobody else writes hidden fields. */
  async #write(token: string): Promise<void> {
    const random = new Random(this.#random.integer(0, 2 ** 31));
    const ids: string[] = [];
    while (this.#isWriting) {
      const body = this.#body(random.pick(owners) ?? 'all');
      const chance = random.unit();
      const id = random.pick(ids);
      try {
        if (id === undefined || chance < 0.4)
          ids.push(String((await this.#ask('POST', records, { token, body })).id));
        else if (chance < 0.8) await this.#ask('PATCH', `${records}/${id}`, { token, body });
        else {
          ids.splice(ids.indexOf(id), 1);
          await this.#ask('DELETE', `${records}/${id}`, { token });
        }
      } catch {
        // A server has died under it: whatever became of the write stands in the log.
        await wait(10);
      }
    }
  }

  async #check(parties: readonly Party[], token: string): Promise<RealtimeRunResult> {
    await this.#ask('POST', records, { token, body: this.#body('all') });
    const last = this.#number;
    await this.#until('everybody is told of the last change', () =>
      Promise.resolve(parties.every(({ follower }) => follower.told.at(-1)?.endsWith(` ${last}`) === true)),
    ).catch((error: unknown) => this.#violations.push(String(error)));
    const log = await this.#readLog(token, last);
    for (const party of parties) this.#compare(party, log);
    return {
      violations: [...this.#violations, ...this.#servers.violations],
      kills: this.#options.kills,
      changes: log.length,
      told: parties.reduce((sum, { follower }) => sum + follower.told.length, 0),
      connections: parties.reduce((sum, { follower }) => sum + follower.connections, 0),
    };
  }

  #compare({ name, sees, isSuperuser, follower }: Party, log: readonly LoggedChange[]): void {
    const visible = log.filter(({ owner }) => sees(owner));
    const [first = ''] = follower.told;
    let next = Math.max(
      0,
      visible.findIndex(({ told }) => told === first),
    );
    const isLast = ({ id, position }: LoggedChange): boolean =>
      !log.some((other) => other.id === id && other.position > position);
    const report = (what: string): number => this.#violations.push(`${name} ${what}`);
    for (const told of follower.told) {
      const at = visible.findIndex((change, index) => index >= next && isTold(told, change, visible));
      if (at === -1) return void report(`was told ${told}, which it may not see there`);
      const missed = visible.slice(next, at).find((change) => isSuperuser || isLast(change));
      if (missed !== undefined) return void report(`was told ${told} before ${missed.told}`);
      if (isSuperuser && told !== visible[at]?.told) return void report(`was told ${told} late`);
      next = at + 1;
    }
    if (next < visible.length) report(`was not told ${visible[next]?.told ?? ''}`);
  }

  /** The log as superusers are told it, which is checked by other runs. The hidden field is not in it, so owners are known by numbers. */
  async #readLog(token: string, last: number): Promise<readonly LoggedChange[]> {
    const changes: LoggedChange[] = [];
    for (let cursor = ''; ;) {
      const query = new URLSearchParams({ cursor, perPage: '1000', wait: '1', collections: 'posts' });
      const page = await this.#ask('GET', `/api/webhooks/feed?${query.toString()}`, { token });
      for (const { payload } of page.items) {
        const { id, number, owner } = payload.data;
        changes.push({
          id: String(id),
          position: changes.length,
          told: `${String(payload.event).replace('record.', '')} ${id} ${number}`,
          owner: this.#ownersOf(owner),
        });
      }
      // A node that has just started does not know at once how far the log is safe.
      if (changes.at(-1)?.told.endsWith(` ${last}`) === true) return changes;
      cursor = page.nextCursor;
    }
  }

  /** The owners that a record's open field stands for: who else may see it by the hidden one follows from that. */
  #ownersOf(owner: string): string {
    return owners.find((one) => one.split(' ')[0] === owner) ?? owner;
  }

  async #signIn(collection: string, identity: string): Promise<string> {
    const path = `/api/collections/${collection}/auth-with-password`;
    return String((await this.#ask('POST', path, { body: { identity, password } })).token);
  }

  async #ask(
    method: string,
    path: string,
    { token, body }: { readonly token?: string; readonly body?: object },
  ): Promise<Json> {
    const url = this.#servers.url();
    if (url === undefined) throw new Error('no server');
    const headers = {
      ...(token !== undefined && { authorization: token }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + catchUpMsMax;
    while (!(await isSo())) {
      if (performance.now() > endMs) throw new Error(`not in time: ${what}`);
      await wait(50);
    }
  }
}

/** By the open field, and who else may see it by the hidden one. */
const owners = ['all', 'ann', 'bob', 'nobody', 'ann2 bob', 'none ann'] as const;

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

interface LoggedChange {
  readonly id: string;
  readonly position: number;
  readonly told: string;
  readonly owner: string;
}

/** Whether this is how a change is told: as it was, or late: a creation with a later state that is visible, and a deletion by the id alone. */
function isTold(told: string, change: LoggedChange, visible: readonly LoggedChange[]): boolean {
  if (told === change.told) return true;
  const [kind = '', id = '', number = ''] = told.split(' ');
  if (!change.told.startsWith(`${kind} ${id} `)) return false;
  if (kind === 'delete') return number === 'undefined';
  const isLater = (other: LoggedChange): boolean =>
    other.told === `update ${id} ${number}` && other.position > change.position;
  return kind === 'create' && visible.some(isLater);
}
