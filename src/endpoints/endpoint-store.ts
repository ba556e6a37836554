import type { Caller } from '../access/caller.ts';
import type { Clock } from '../base/clock.ts';
import { notFound } from '../base/errors.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, tableSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import type { Sealer, SealPlace } from '../secrets/seal.ts';
import { identifier, joinSql, sql, type Sql, type SqlValue } from '../sql/sql.ts';
import type { Database, Reader, Row, Transaction } from '../storage/database.ts';
import { type EndpointOption, namedOptions, optionColumn, settingsOf } from './endpoint-options.ts';
import { isReached } from './endpoint-reach.ts';
import { type Endpoint, endpointStatuses } from './endpoint.ts';
import { readSigningKeys, rotatedKeys, type SigningKeys, writeSigningKeys } from './signing-keys.ts';

/**
 * One instance's endpoints, cached after the first read, as every write of a record needs them. A change runs alone in its
 * commit, so a transaction always gets the same endpoints as from the table.
 */
export class EndpointStore {
  readonly #sealer: Sealer;
  #all: readonly Endpoint[] | undefined;
  #byOwner: EndpointsByOwner = divide([]);
  /** As they were read last; undefined while no endpoint needs them. */
  #signingKeys: SigningKeys | undefined;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Those without owner, whose deliveries a write of a record inserts itself, and those of accounts, which are matched later from the log. */
  async byOwner(reader: Reader): Promise<EndpointsByOwner> {
    const all = await this.all(reader);
    if (this.#byOwner.all !== all) this.#byOwner = divide(all);
    return this.#byOwner;
  }

  async all(reader: Reader): Promise<readonly Endpoint[]> {
    if (this.#all !== undefined) return this.#all;
    const read = await this.stored(reader);
    // A concurrent call that finished first may have read a newer state: its result stays.
    return (this.#all ??= read);
  }

  /** Reads all endpoints from the table: outside a transaction, the cache may lack a change by another node. */
  async stored(reader: Reader): Promise<readonly Endpoint[]> {
    const { names } = reader;
    const isOf = (name: 'l' | 'r'): Sql =>
      sql`${names.instance.conditionOf(name)} AND ${identifier(name)}.endpoint = p.position`;
    const reconciling = sql`transitions = 'true' AND (
      EXISTS (SELECT 1 FROM ${names.table('$lane')} l WHERE ${isOf('l')} AND l.reconcile_at IS NOT NULL)
      OR EXISTS (SELECT 1 FROM ${names.table('$replay')} r WHERE ${isOf('r')} AND r.scope = 'reconcile' AND r.state = 'running'))`;
    const rows = await reader.all(
      sql`SELECT p.*, CASE WHEN ${reconciling} THEN 1 ELSE 0 END AS reconciling FROM ${names.table('$endpoint')} p
        WHERE ${names.instance.conditionOf('p')} AND deleted = '' ORDER BY position`,
    );
    const endpoints = rows.map((row) => this.#fromRow(row));
    if (endpoints.some(({ ed25519 }) => ed25519)) await this.readSigningKeys(reader);
    return endpoints;
  }

  /** The keys that sign requests to endpoints with `ed25519`: as current as the endpoints themselves. */
  get signingKeys(): SigningKeys | undefined {
    return this.#signingKeys;
  }

  async readSigningKeys(reader: Reader): Promise<SigningKeys | undefined> {
    const keys = await readSigningKeys(reader, this.#sealer);
    this.#rememberKeys(keys);
    return keys;
  }

  async saveSigningKeys(tx: Transaction, keys: SigningKeys): Promise<void> {
    await writeSigningKeys(tx, this.#sealer, keys);
    tx.afterCommit(() => this.#rememberKeys(keys));
  }

  /** A read that began before a rotation may end after it. */
  #rememberKeys(keys: SigningKeys | undefined): void {
    if ((keys?.rotation ?? 0) >= (this.#signingKeys?.rotation ?? 0)) this.#signingKeys = keys;
  }

  /** Makes the keys of an endpoint that is the first to need them. */
  async #requireSigningKeys(tx: Transaction, { ed25519, updated }: Omit<Endpoint, 'number'>): Promise<void> {
    if (
      !ed25519 ||
      this.#signingKeys !== undefined ||
      (await readSigningKeys(tx, this.#sealer)) !== undefined
    )
      return;
    await this.saveSigningKeys(tx, rotatedKeys(undefined, { nowMs: fromTimestamp(updated), overlapMs: 0 }));
  }

  /** Reads like {@link stored}. The returned function caches the result and returns whether an active endpoint was created or changed. */
  async read(reader: Reader): Promise<() => boolean> {
    const read = await this.stored(reader);
    return () => {
      const previous = new Map((this.#all ?? []).map((one) => [one.id, one]));
      this.#all = read;
      return read.some(({ id, status, updated }) => {
        const before = previous.get(id);
        return status === 'active' && (before?.status !== 'active' || before.updated !== updated);
      });
    };
  }

  async find(reader: Reader, id: string): Promise<Endpoint | undefined> {
    return (await this.all(reader)).find((endpoint) => endpoint.id === id);
  }

  /** As `find`. Throws not_found. */
  async get(reader: Reader, id: string): Promise<Endpoint> {
    const endpoint = await this.find(reader, id);
    if (endpoint === undefined) throw notFound();
    return endpoint;
  }

  /** Inserts an endpoint and returns it with its number. */
  async insert(tx: Transaction, members: Omit<Endpoint, 'number'>): Promise<Endpoint> {
    const { names } = tx;
    await this.#requireSigningKeys(tx, members);
    const row = [...this.#changingColumns(members), ...this.#secretColumns(members)];
    const columns = row.map(([column]) => column);
    const values = row.map(([, value]) => sql`${value}`);
    const [inserted] = await tx.returning(sql`
      INSERT INTO ${names.table('$endpoint')} (${names.instance.column}id, ${joinSql(columns, ', ')}, created)
      VALUES (${names.instance.value}${members.id}, ${joinSql(values, ', ')}, ${members.created})
      RETURNING position`);
    const endpoint = { ...members, number: Number(inserted?.[0]) };
    // It may be cached already: a concurrent read may see the commit before this callback runs.
    this.#changeAfterCommit(tx, (all) => [...all.filter(({ id }) => id !== endpoint.id), endpoint]);
    return endpoint;
  }

  async update(tx: Transaction, endpoint: Endpoint): Promise<void> {
    await this.#requireSigningKeys(tx, endpoint);
    await this.#set(tx, endpoint, this.#changingColumns(endpoint));
  }

  /** Stores the current and the previous secret. */
  updateSecrets(tx: Transaction, endpoint: Endpoint): Promise<void> {
    return this.#set(tx, endpoint, [
      ...this.#secretColumns(endpoint),
      [sql`updated`, endpoint.updated] as const,
    ]);
  }

  async #set(tx: Transaction, endpoint: Endpoint, columns: readonly ChangedColumn[]): Promise<void> {
    const changes = columns.map(([column, value]) => sql`${column} = ${value}`);
    await tx.run(sql`
      UPDATE ${tx.names.table('$endpoint')} SET ${joinSql(changes, ', ')}
      WHERE ${tx.names.instance.condition} AND id = ${endpoint.id}`);
    this.#changeAfterCommit(tx, (all) => all.map((other) => (other.id === endpoint.id ? endpoint : other)));
  }

  /** Deletes an endpoint. Its row stays while the log names it, without secrets. */
  async delete(tx: Transaction, id: string, now: Timestamp): Promise<void> {
    await tx.run(sql`
      UPDATE ${tx.names.table('$endpoint')} SET deleted = ${now}, url = '', headers = '', oauth2 = NULL, client_certificate = NULL, secret = '', previous_secret = ''
      WHERE ${tx.names.instance.condition} AND id = ${id}`);
    this.#changeAfterCommit(tx, (all) => all.filter((other) => other.id !== id));
  }

  /** Changes the cache at the time of the commit, as a transaction may change several endpoints. An empty cache stays empty. */
  #changeAfterCommit(tx: Transaction, change: (all: readonly Endpoint[]) => readonly Endpoint[]): void {
    tx.afterCommit(() => {
      if (this.#all !== undefined) this.#all = change(this.#all);
    });
  }

  #secretColumns(endpoint: Omit<Endpoint, 'number'>): readonly ChangedColumn[] {
    const { id, secret, previousSecret, previousSecretUntil } = endpoint;
    const previous = previousSecret === '' ? '' : this.#sealer.seal(previousSecret, previousSecretPlace(id));
    return [
      [sql`secret`, this.#sealer.seal(secret, secretPlace(id))],
      [sql`previous_secret`, previous],
      [sql`previous_secret_until`, previousSecretUntil],
    ];
  }

  #changingColumns(endpoint: Omit<Endpoint, 'number'>): readonly ChangedColumn[] {
    const values: Readonly<Record<string, unknown>> = { ...endpoint };
    const options = namedOptions.map(
      ([name, { form }]) =>
        [
          identifier(optionColumn(name)),
          this.#toStored(values[name], form, optionPlace(name, endpoint.id)),
        ] as const,
    );
    const { status, statusReason, verified, updated } = endpoint;
    return [
      ...options,
      [sql`status`, status],
      [sql`status_reason`, statusReason],
      [sql`verified`, verified],
      [sql`updated`, updated],
    ];
  }

  #toStored(value: unknown, form: EndpointOption<unknown>['form'], place: SealPlace): SqlValue {
    if (form === 'number') return Number(value);
    if (form === 'text') return String(value);
    if (value === null) return null;
    const json = JSON.stringify(value);
    return form === 'sealed' ? this.#sealer.seal(json, place) : json;
  }

  #fromStored(stored: SqlValue, form: EndpointOption<unknown>['form'], place: SealPlace): unknown {
    if (form === 'number') return Number(stored);
    const text = String(stored);
    if (form === 'text') return text;
    if (stored === null) return null;
    return JSON.parse(form === 'sealed' ? this.#sealer.open(text, place) : text);
  }

  #fromRow(row: Row): Endpoint {
    const id = String(row['id']);
    const settings = settingsOf(([name, { form }]) =>
      this.#fromStored(row[optionColumn(name)] ?? null, form, optionPlace(name, id)),
    );
    const previous = String(row['previous_secret']);
    return {
      ...settings,
      id,
      number: Number(row['position']),
      // One that only a newer version knows is sent nothing.
      status: endpointStatuses.find((status) => status === row['status']) ?? 'paused',
      statusReason: String(row['status_reason']),
      verified: String(row['verified']),
      reconciling: Number(row['reconciling']) === 1,
      secret: this.#sealer.open(String(row['secret']), secretPlace(id)),
      previousSecret: previous === '' ? '' : this.#sealer.open(previous, previousSecretPlace(id)),
      previousSecretUntil: String(row['previous_secret_until']),
      created: String(row['created']),
      updated: String(row['updated']),
    };
  }
}

export interface EndpointsByOwner {
  readonly all: readonly Endpoint[];
  readonly unowned: readonly Endpoint[];
  readonly owned: readonly Endpoint[];
}

function divide(all: readonly Endpoint[]): EndpointsByOwner {
  const { unowned = [], owned = [] } = Object.groupBy(all, ({ owner }) =>
    owner === '' ? 'unowned' : 'owned',
  );
  return { all, unowned, owned };
}

type ChangedColumn = readonly [column: Sql, value: SqlValue];

function secretPlace(id: string): SealPlace {
  return { purpose: 'endpoint-secret', id };
}

function previousSecretPlace(id: string): SealPlace {
  return { purpose: 'endpoint-previous-secret', id };
}

function optionPlace(name: string, id: string): SealPlace {
  return { purpose: `endpoint-${name}`, id };
}

const textNames = namedOptions.flatMap(([name, { form }]) => (form === 'text' ? [name] : []));

const resolve = columnResolver({
  id: column('text', sql`id`),
  ...Object.fromEntries(textNames.map((name) => [name, column('text', identifier(optionColumn(name)))])),
  status: column('text', sql`status`),
  created: column('date', sql`created`),
  updated: column('date', sql`updated`),
});

const ids = { name: '$endpoint', columns: sql`id`, resolve, where: sql`deleted = ''` } as const;

interface StoredEndpoints {
  readonly database: Database;
  readonly endpoints: EndpointStore;
}

/** One endpoint as it is stored. Throws not_found. */
export async function readEndpoint(instance: StoredEndpoints, id: string): Promise<Endpoint> {
  const endpoints = await instance.endpoints.stored(instance.database);
  const match = endpoints.find((endpoint) => endpoint.id === id);
  if (match === undefined) throw notFound();
  return match;
}

/** Returns a page of endpoints, by default in the order of creation. */
export async function listEndpoints(
  instance: StoredEndpoints & { readonly clock: Clock },
  query: ListQuery,
  caller: Caller,
): Promise<ListResult<Endpoint>> {
  const { database } = instance;
  const reached = isReached(database.names, sql`position`, caller);
  const table = reached === undefined ? ids : { ...ids, where: sql`${ids.where} AND ${reached}` };
  const page = await runList(database, query, tableSource(database, table, instance.clock.now()));
  const endpoints = await instance.endpoints.stored(database);
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  // An endpoint that was deleted between the two reads is left out.
  return {
    ...page,
    items: page.items.map(([id]) => byId.get(String(id))).filter((endpoint) => endpoint !== undefined),
  };
}
