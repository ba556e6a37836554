import { shardOf } from '../../src/dispatch/nodes/leased-ownership.ts';
import { ask } from '../support/postgres.ts';
import { digestOf } from './journal.ts';
import type { StoredState } from './stored-state.ts';
import { storedDeliveries } from '../support/delivery-rows.ts';

/** What a PostgreSQL database holds of one instance, read past the product. */
export async function readPostgresState(url: string, instanceId: string): Promise<StoredState> {
  const owned = `WHERE instance_id = '${instanceId}'`;
  const events = await ask(url, `SELECT * FROM chancery.event ${owned} ORDER BY position`);
  const deliveries = await ask(url, `SELECT id, status, event FROM ${storedDeliveries.postgres} ${owned}`);
  const records = await ask(
    url,
    `SELECT id, "$revision" AS revision, title, body FROM "i_${instanceId}".posts`,
  );
  return {
    integrity: 'ok',
    foreignKeyBreaches: 0,
    records: records.map((row) => ({
      id: String(row['id']),
      revision: Number(row['revision']),
      title: String(row['title']),
      body: String(row['body']),
    })),
    events: events.map((row) => {
      // The column is bytea and never null.
      const body = row['body'] as Buffer;
      // What webhooks.md section 1 describes, of a collection that has a title.
      const { data } = JSON.parse(body.toString('utf8')) as { readonly data: { readonly title: string } };
      return {
        position: Number(row['position']),
        id: String(row['id']),
        kind: String(row['kind']),
        record: String(row['record']),
        revision: Number(row['revision']),
        title: data.title,
        digest: digestOf(body),
      };
    }),
    deliveries: new Map(
      deliveries.map((row) => [
        String(row['id']),
        { status: String(row['status']), event: Number(row['event']) },
      ]),
    ),
  };
}

/** Ids of the instance's deliveries that no committed row calls finished. */
export async function readPending(url: string, instanceId: string): Promise<ReadonlySet<string>> {
  const rows = await ask(
    url,
    `SELECT id FROM ${storedDeliveries.postgres} WHERE instance_id = '${instanceId}' AND status = 'pending'`,
  );
  return new Set(rows.map(({ id }) => String(id)));
}

/** Makes the database note when a node takes a shard from another that has not given it away: its lease had run out. */
export async function noteTakeovers(url: string): Promise<void> {
  await ask(url, 'CREATE TABLE chancery.test_takeover (shard integer, node text, at timestamptz)');
  await ask(
    url,
    `CREATE FUNCTION chancery.test_note_takeover() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO chancery.test_takeover VALUES (NEW.shard, OLD.node, clock_timestamp()); RETURN NEW; END $$`,
  );
  await ask(
    url,
    `CREATE TRIGGER test_note_takeover AFTER UPDATE ON chancery.shard_lease FOR EACH ROW
       WHEN (OLD.node IS NOT NULL AND NEW.node IS NOT NULL AND OLD.node <> NEW.node)
       EXECUTE FUNCTION chancery.test_note_takeover()`,
  );
}

/** When a node took the instance from one whose lease had run out, in milliseconds since 1970; not from one of `gone`, which are dead. */
export async function readTakeovers(
  url: string,
  instanceId: string,
  gone: ReadonlySet<string>,
): Promise<readonly number[]> {
  const rows = await ask(
    url,
    `SELECT node, extract(epoch FROM at) * 1000 AS at FROM chancery.test_takeover WHERE shard = ${shardOf(instanceId)}`,
  );
  return rows.filter(({ node }) => !gone.has(String(node))).map(({ at }) => Number(at));
}

/** How many shards have an owner that renews its lease, other than those that `gone` names. */
export async function countOwned(url: string, gone: readonly string[]): Promise<number> {
  const list = gone.map((id) => `'${id}'`).join(',') || `''`;
  const [row] = await ask(
    url,
    `SELECT count(*) AS owned FROM chancery.shard_lease WHERE expires > now() AND node IS NOT NULL AND node NOT IN (${list})`,
  );
  return Number(row?.['owned']);
}

/** Ids of the nodes that hold shards. */
export async function readOwners(url: string): Promise<readonly string[]> {
  const rows = await ask(url, 'SELECT DISTINCT node FROM chancery.shard_lease WHERE node IS NOT NULL');
  return rows.map(({ node }) => String(node));
}
