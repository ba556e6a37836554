import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MemoryMirror, mirror } from '../../../kit/src/mirror.ts';
import { startApp } from '../../../src/app.ts';
import { upsertSuperuser } from '../../../src/auth/superuser.ts';
import { readConfig } from '../../../src/config/config.ts';
import { onInstance } from '../../../src/open-data-directory.ts';
import { startTestPostgres } from '../../support/postgres.ts';
import { listOf } from '../../support/webhook-service.ts';
import { Receiver, type ReceivedRequest } from '../../support/receiver.ts';
import { errorsOnly } from '../errors-only.ts';
import { DyingServers } from '../ledger/dying-servers.ts';
import { environment } from '../prepare-instances.ts';
import { Random } from '../random.ts';
import {
  type Ask,
  collections,
  filterOf,
  type Json,
  makeWorld,
  posts,
  postOf,
  ruleOf,
  secret,
} from './mirror-world.ts';

export interface MirrorsRunOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly seed: number;
  readonly kills: number;
}

export interface MirrorsRunResult {
  readonly violations: readonly string[];
  readonly kills: number;
  readonly writes: number;
  /** Webhooks that arrived, and those of them that were transitions. */
  readonly received: number;
  readonly transitions: number;
  /** Records in all copies at the end. */
  readonly copied: number;
}

const writersCount = 3;
const password = 'correct horse';
const superuser = { identity: 'root@example.com', password };
const catchUpMsMax = 120_000;
const endpoints = '/api/webhooks/endpoints';

/**
 * Endpoints with transitions, of superusers and of accounts, while records, memberships, teams, view rules, filters and endpoints change at
 * random, and servers are killed. In the end each copy has exactly what the record API shows to that caller, and no state that it was never
 * allowed to see has been sent to it.
 */
export async function mirrorsRun(options: MirrorsRunOptions): Promise<MirrorsRunResult> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-mirrors-'));
  const isShared = options.engine === 'postgres';
  const database = isShared ? await startTestPostgres({ settings: ['max_connections=150'] }) : undefined;
  const receiver = await Receiver.open();
  try {
    return await new Run(options, { data, postgres: await database?.createDatabase() }, receiver).run();
  } finally {
    await receiver.close();
    await database?.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

interface Place {
  readonly data: string;
  readonly postgres: string | undefined;
}

/** An endpoint that is compared at the end. */
interface Party {
  readonly name: string;
  /** The path of its URL. */
  readonly path: string;
  /** Of the caller whose view it has. */
  readonly token: string;
  readonly id: string;
}

class Run {
  readonly #options: MirrorsRunOptions;
  readonly #place: Place;
  readonly #receiver: Receiver;
  readonly #random: Random;
  readonly #servers: DyingServers;
  readonly #violations: string[] = [];
  #state = 0;
  #writes = 0;
  #isWriting = true;

  constructor(options: MirrorsRunOptions, place: Place, receiver: Receiver) {
    this.#options = options;
    this.#place = place;
    this.#receiver = receiver;
    this.#random = new Random(options.seed);
    this.#servers = new DyingServers(place, new Random(this.#random.integer(0, 2 ** 31)));
  }

  async run(): Promise<MirrorsRunResult> {
    await this.#prepare();
    const nodes = this.#options.engine === 'postgres' ? 2 : 1;
    for (let node = 0; node < nodes; node += 1) await this.#servers.start();
    try {
      const token = await this.#signIn('_superusers', superuser.identity);
      const ask: Ask = (method, path, body) => this.#ask(method, path, { token, body });
      const { users, teams } = await makeWorld(ask, { random: this.#random, password });
      const parties = await this.#begin(ask, token, users);
      const writing = Array.from({ length: writersCount }, () =>
        this.#write(ask, teams, [...users.values()]),
      );
      const changing = this.#change(ask, parties, teams);
      for (let kill = 0; kill < this.#options.kills; kill += 1) {
        await this.#servers.die({ afterMs: this.#random.integer(300, 2_500) });
        await this.#servers.start();
      }
      await wait(500);
      this.#isWriting = false;
      await Promise.all([...writing, changing]);
      return await this.#check(ask, parties);
    } finally {
      this.#isWriting = false;
      await this.#servers.kill();
    }
  }

  async #prepare(): Promise<void> {
    const { data, postgres } = this.#place;
    const place = postgres === undefined ? { data } : { postgres };
    const config = readConfig({ ...place, port: '0', dev: true }, postgres === undefined ? {} : environment);
    const app = await startApp(config, { logger: errorsOnly });
    const [entry] = app.data.directory.all();
    if (entry === undefined) throw new Error('a new folder has its default instance');
    await onInstance(app.data, entry, (instance) => upsertSuperuser(instance, superuser.identity, password));
    await app.stop();
  }

  async #begin(ask: Ask, token: string, users: ReadonlyMap<string, string>): Promise<readonly Party[]> {
    const add = async (name: string, caller: string, settings: object): Promise<Party> => {
      const path = `/${name}`;
      const url = new URL(path, this.#receiver.url).href;
      const common = { url, collections: ['posts'], transitions: true, ...settings };
      return { name, path, token: caller, id: (await ask('POST', endpoints, common)).id };
    };
    const parties = [
      await add('all', token, { filter: filterOf(this.#random), order: 'record' }),
      await add('unordered', token, { filter: filterOf(this.#random) }),
    ];
    for (const [name, id] of users) {
      const caller = await this.#signIn('users', `${name}@example.com`);
      parties.push(await add(name, caller, { owner: `users/${id}`, order: 'record' }));
      const filter = filterOf(this.#random);
      parties.push(await add(`${name}-filtered`, caller, { owner: `users/${id}`, filter }));
    }
    return parties;
  }

  /** Changes records: posts, teams and memberships. */
  async #write(ask: Ask, teams: readonly string[], users: readonly string[]): Promise<void> {
    const random = new Random(this.#random.integer(0, 2 ** 31));
    const ids: string[] = [];
    const members: string[] = [];
    while (this.#isWriting) {
      const chance = random.unit();
      const id = random.pick(ids);
      const member = random.pick(members);
      const body = postOf(random, teams, (this.#state += 1));
      const ofMembers = `${collections}/members/records`;
      try {
        if (chance < 0.03 && member !== undefined) {
          members.splice(members.indexOf(member), 1);
          await ask('DELETE', `${ofMembers}/${member}`);
        } else if (chance < 0.06)
          members.push(
            (await ask('POST', ofMembers, { team: random.pick(teams), user: random.pick(users) })).id,
          );
        else if (chance < 0.1)
          await ask('PATCH', `${collections}/teams/records/${random.pick(teams)}`, {
            isOpen: random.unit() < 0.5,
          });
        else if (id === undefined || chance < 0.35) ids.push((await ask('POST', posts, body)).id);
        else if (chance < 0.9) await ask('PATCH', `${posts}/${id}`, body);
        else {
          ids.splice(ids.indexOf(id), 1);
          await ask('DELETE', `${posts}/${id}`);
        }
        this.#writes += 1;
      } catch {
        // A server has died under it: whatever became of the write shows at the end.
        await wait(10);
      }
    }
  }

  /** Changes what decides about records: view rules, filters, and whether endpoints are paused. */
  async #change(ask: Ask, parties: readonly Party[], teams: readonly string[]): Promise<void> {
    const random = new Random(this.#random.integer(0, 2 ** 31));
    while (this.#isWriting) {
      await wait(random.integer(100, 700));
      const party = random.pick(parties);
      const chance = random.unit();
      if (party === undefined || teams.length === 0) return;
      const path = `${endpoints}/${party.id}`;
      try {
        if (chance < 0.35) await ask('PATCH', `${collections}/posts`, ruleOf(random));
        else if (chance < 0.6) await ask('PATCH', path, { filter: filterOf(random) });
        else if (chance < 0.8) await ask('POST', `${path}/pause`);
        else await ask('POST', `${path}/resume`, {});
      } catch {
        await wait(10);
      }
    }
  }

  async #check(ask: Ask, parties: readonly Party[]): Promise<MirrorsRunResult> {
    for (const { id } of parties) await this.#until('it is resumed', () => resumed(ask, id));
    let differences: readonly string[] = [];
    await this.#until('each copy is right', async () => {
      differences = await this.#differences(ask, parties);
      return differences.length === 0;
    }).catch((error: unknown) => this.#violations.push(String(error), ...differences));
    let copied = 0;
    for (const party of parties) copied += (await this.#copyOf(party)).size;
    const received = this.#receiver.requests;
    for (const request of received) this.#checkWire(request);
    return {
      violations: [...this.#violations, ...this.#servers.violations],
      kills: this.#options.kills,
      writes: this.#writes,
      received: received.length,
      transitions: received.filter(({ headers }) => headers['x-service-transition'] !== undefined).length,
      copied,
    };
  }

  #checkWire({ path, body }: ReceivedRequest): void {
    const { level } = JSON.parse(body.toString('utf8')).data;
    if (level === secret) this.#violations.push(`${path} was sent a secret: ${body.toString('utf8')}`);
    if (level === 'ann' && path.startsWith('/bob'))
      this.#violations.push(`${path} was sent what is for ann: ${body.toString('utf8')}`);
  }

  /** What is still to come, or how copies differ from what callers may see. */
  async #differences(ask: Ask, parties: readonly Party[]): Promise<readonly string[]> {
    const items = listOf((await ask('GET', `${endpoints}?perPage=100`)).items);
    const late = items.flatMap((one) => (one.reconciling === true ? [`${one.url} is reconciling`] : []));
    const query = new URLSearchParams({ perPage: '1', skipTotal: 'true', filter: "status = 'pending'" });
    const pending = await ask('GET', `/api/webhooks/deliveries?${query.toString()}`);
    if (listOf(pending.items).length > 0) late.push('deliveries wait');
    for (const party of parties) {
      const filter = String(items.find(({ id }) => id === party.id)?.filter);
      const [copy, expected] = [await this.#copyOf(party), await this.#viewOf(party, filter)];
      for (const id of new Set([...copy.keys(), ...expected.keys()]))
        if (copy.get(id) !== expected.get(id))
          late.push(`${party.name} has ${id} as ${copy.get(id)}, and not ${expected.get(id)} (${filter})`);
    }
    return late;
  }

  /** The states that the receiver of an endpoint has, by ids. */
  async #copyOf({ path }: Party): Promise<ReadonlyMap<string, number>> {
    const store = new MemoryMirror();
    const apply = mirror({ store });
    for (const { headers, body, path: to } of this.#receiver.requests) {
      if (to !== path) continue;
      const transition = headers['x-service-transition'];
      await apply({
        event: JSON.parse(body.toString('utf8')),
        sequence: Number(headers['x-service-sequence']),
        ...((transition === 'enter' || transition === 'leave') && { transition }),
      });
    }
    return new Map(store.records('posts').map(({ id, state }) => [id, Number(state)]));
  }

  /** The states that the record API shows to a caller. */
  async #viewOf({ token }: Party, filter: string): Promise<ReadonlyMap<string, number>> {
    const states = new Map<string, number>();
    for (let page = 1; ; page += 1) {
      const query = new URLSearchParams({ perPage: '500', page: String(page), filter });
      const { items, totalPages } = await this.#ask('GET', `${posts}?${query.toString()}`, { token });
      for (const { id, state } of items) states.set(id, state);
      if (page >= totalPages) return states;
    }
  }

  async #signIn(collection: string, identity: string): Promise<string> {
    const path = `${collections}/${collection}/auth-with-password`;
    return String((await this.#ask('POST', path, { body: { identity, password } })).token);
  }

  async #ask(
    method: string,
    path: string,
    { token, body }: { readonly token?: string; readonly body?: object | undefined },
  ): Promise<Json> {
    const url = this.#servers.url();
    if (url === undefined) throw new Error('no server');
    const headers = {
      ...(token !== undefined && { authorization: token }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + catchUpMsMax;
    for (let error: unknown = ''; ;) {
      try {
        if (await isSo()) return;
      } catch (failure) {
        // A busy machine may let a query take too long.
        error = failure;
      }
      if (performance.now() > endMs) throw new Error(`not in time: ${what} ${String(error)}`);
      await wait(200);
    }
  }
}

/** Resumes an endpoint; one that is active already stays so. */
async function resumed(ask: Ask, id: string): Promise<boolean> {
  await ask('POST', `${endpoints}/${id}/resume`, {});
  return (await ask('GET', `${endpoints}/${id}`)).status === 'active';
}
