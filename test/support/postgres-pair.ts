import { eventually } from './eventually.ts';
import { Forwarder } from './forwarder.ts';
import { ask, startTestPostgres, type TestPostgres } from './postgres.ts';

/** A primary with synchronous replication, which acknowledges no commit before its standby has it, and that standby. */
export interface PostgresPair {
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** Cuts the standby off. Resolves when a commit waits for it, which the primary has written but cannot acknowledge. */
  part(): Promise<void>;
  /** Promotes the standby to a server that takes writes and waits for no other. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

const replicating = ['wal_level=replica', 'max_wal_senders=4', 'wal_keep_size=256MB', 'max_connections=100'];

export async function startPostgresPair(): Promise<PostgresPair> {
  const primary = await startTestPostgres({ settings: [...replicating, 'synchronous_standby_names=*'] });
  const link = await Forwarder.open(Number(new URL(primary.url).port));
  const source = `primary_conninfo=host=127.0.0.1 port=${link.port} user=postgres`;
  const standby = await startTestPostgres({ settings: [...replicating, source], standbyOf: primary });
  const primaryHas = (what: string, from: string): Promise<boolean> =>
    eventually(what, async () => (await ask(primary.url, `SELECT 1 FROM ${from}`)).length > 0);
  await primaryHas('the standby is synchronous', `pg_stat_replication WHERE sync_state = 'sync'`);
  return {
    primary,
    standby,
    part: async () => {
      link.pointTo(undefined);
      await primaryHas('a commit waits', `pg_stat_activity WHERE wait_event = 'SyncRep'`);
    },
    promote: async () => {
      const [row] = await ask(standby.url, 'SELECT pg_promote() AS promoted');
      if (row?.['promoted'] !== true) throw new Error('the standby was not promoted');
    },
    stop: async () => {
      await standby.stop();
      await primary.stop();
      await link.close();
    },
  };
}
