// Both engines: whether a run is claimed is decided by conditions on rows.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { InstanceBackups } from '../../src/backups/instance-backups.ts';
import { leaseMs } from '../../src/backups/job-lease.ts';
import { AppError } from '../../src/base/errors.ts';
import { CronRuns } from '../../src/crons/cron-runs.ts';
import { InstanceCrons, type InstanceCronsOptions } from '../../src/crons/instance-crons.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { type DataDirectory, openDataDirectory } from '../../src/open-data-directory.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { logInto } from '../support/log-into.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testConfig } from '../support/test-config.ts';

const busyText = 'Try again later - the cron job is already running.';
const input = ruleInputOfCaller({ kind: 'superuser', id: '' });
const hourMs = 3_600_000;

class Stage {
  readonly data: DataDirectory;
  readonly instance: Instance;
  readonly clock: MovableClock;
  readonly log: string[] = [];
  readonly #t: TestContext;

  private constructor(t: TestContext, parts: Pick<Stage, 'data' | 'instance' | 'clock'>) {
    this.#t = t;
    this.data = parts.data;
    this.instance = parts.instance;
    this.clock = parts.clock;
  }

  static async open(t: TestContext): Promise<Stage> {
    const clock = new MovableClock();
    const config = await testConfig(temporaryFolder(t));
    const data = await openDataDirectory(config, { clock, logger: logInto([]) });
    const [entry] = data.directory.all();
    assert.ok(entry);
    const loan = await data.instances.borrow(entry);
    t.after(async () => {
      loan.release();
      await data.stop();
    });
    return new Stage(t, { data, instance: loan.instance, clock });
  }

  /** The jobs as one of several processes has them. */
  process(parts: Partial<InstanceCronsOptions> = {}): InstanceCrons {
    const { home, instances, requests } = this.data;
    const { clock } = this;
    const places = { folder: temporaryFolder(this.#t), account: undefined };
    const crons = new InstanceCrons({
      runs: new CronRuns(home.background, clock),
      backups: new InstanceBackups(home.background, { places, requests, clock }),
      fileSweeper: this.data.fileSweeper,
      openIds: () => instances.openIds(),
      borrowOpen: (id) => instances.borrowOpen(id),
      clock,
      logger: logInto(this.log),
      ...parts,
    });
    this.#t.after(() => crons.stop());
    return crons;
  }

  run(crons: InstanceCrons): Promise<void> {
    return crons.run(this.instance, input, 'fileCleanup');
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof AppError && error.code === 'bad_request' && error.message === busyText;
}

test('a job that runs is refused in every process, and runs again once it has ended', async (t) => {
  const stage = await Stage.open(t);
  let begun = 0;
  let { promise: held, resolve: release } = Promise.withResolvers<void>();
  t.after(() => release());
  const sweepInstance = (): Promise<void> => {
    begun += 1;
    return held;
  };
  const [one, two] = [stage.process({ fileSweeper: { sweepInstance } }), stage.process()];
  await stage.run(one);
  assert.equal(begun, 1);
  await assert.rejects(stage.run(one), isBusy);
  await assert.rejects(stage.run(two), isBusy);
  // Other jobs of the instance run beside it.
  await two.run(stage.instance, input, '__pbLogsCleanup__');
  release();
  await eventually('it has ended', async () => {
    const runs = await stage.data.home.control.tuples(
      sql`SELECT state FROM ${stage.data.home.control.names.table('$cron_run')}`,
    );
    return runs.every(([state]) => state === 'ended');
  });
  ({ promise: held, resolve: release } = Promise.withResolvers<void>());
  await stage.run(one);
  assert.equal(begun, 2);
  // Its process has stood still for longer than the lease.
  stage.clock.move(leaseMs + 1);
  await stage.run(two);
  release();
  await one.stop();
  assert.deepEqual(stage.log, []);
});

test('runs that wait are bounded, and one that finds no room ends its hold', async (t) => {
  const stage = await Stage.open(t);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  t.after(() => release());
  const others = ['webhookLogCleanup', '__pbMFACleanup__', '__pbOTPCleanup__', '__pbLogsCleanup__'] as const;
  const janitor = { tidyInstance: (): Promise<void> => held };
  const queueLimits = { runningMax: 1, waitingMax: 2, waitingOfInstanceMax: 2, waitingOfAddressMax: 2 };
  const crons = stage.process({ janitor, queueLimits });
  const [first, second, third, fourth] = others;
  for (const id of [first, second, third]) await crons.run(stage.instance, input, id);
  const isFull = (error: unknown): boolean => error instanceof AppError && error.code === 'unavailable';
  await assert.rejects(crons.run(stage.instance, input, fourth), isFull);
  await eventually('the hold of the fourth has ended', () =>
    crons.run(stage.instance, input, fourth).then(
      () => false,
      (error: unknown) => isFull(error),
    ),
  );
});

test('a job that fails is logged, and may be run again', async (t) => {
  const stage = await Stage.open(t);
  const sweepInstance = (): Promise<void> => Promise.reject(new Error('No disk.'));
  const crons = stage.process({ fileSweeper: { sweepInstance } });
  await stage.run(crons);
  await eventually('it is logged', () => stage.log.length === 1);
  assert.match(stage.log[0] ?? '', /A scheduled job failed\./);
  await eventually('it runs again', () =>
    stage.run(crons).then(
      () => true,
      (error: unknown) => !isBusy(error),
    ),
  );
});

test('each slot of a schedule is run once by one of the processes, and a missed one is caught up on', async (t) => {
  const stage = await Stage.open(t);
  const runs = new CronRuns(stage.data.home.background, stage.clock);
  const { shownId } = stage.instance;
  const claimed: string[] = [];
  const spy = (name: string): Pick<InstanceCronsOptions, 'runs'> => ({
    runs: Object.assign(new CronRuns(stage.data.home.background, stage.clock), {
      claimSlot: async (instance: string, cron: string, slot: number) => {
        const hold = await runs.claimSlot(instance, cron, slot);
        if (hold !== undefined) claimed.push(`${cron} ${new Date(slot).toISOString().slice(11, 16)} ${name}`);
        return hold;
      },
    }),
  });
  const [one, two] = [stage.process(spy('one')), stage.process(spy('two'))];
  const look = async (): Promise<readonly string[]> => {
    await one.look();
    await two.look();
    return claimed.splice(0);
  };
  assert.deepEqual(await look(), [
    '__pbMFACleanup__ 09:00 one',
    '__pbOTPCleanup__ 09:00 one',
    '__pbLogsCleanup__ 06:00 one',
  ]);
  assert.deepEqual(await look(), []);
  // A process that has been started again does not run it a second time.
  await stage.process(spy('three')).look();
  assert.deepEqual(claimed, []);
  stage.clock.move(3 * hourMs);
  assert.deepEqual(await look(), [
    '__pbMFACleanup__ 12:00 one',
    '__pbOTPCleanup__ 12:00 one',
    '__pbLogsCleanup__ 12:00 one',
  ]);
  assert.ok(await runs.claimNow(shownId, '__pbOTPCleanup__'));
  stage.clock.move(leaseMs / 2);
  assert.equal(await runs.claimSlot(shownId, '__pbOTPCleanup__', 1), undefined);
});

test('old entries of the request log of an instance without requests are removed when it is due', async (t) => {
  const stage = await Stage.open(t);
  const { logs } = stage.instance;
  logs.note({ at: stage.clock.now(), level: 0, message: 'old', data: {} });
  const database = await logs.table();
  const count = async (): Promise<number> => {
    const { names } = database;
    const table = names.table('$log');
    return (await database.tuples(sql`SELECT 1 FROM ${table} WHERE ${names.instance.condition}`)).length;
  };
  assert.equal(await count(), 1);
  stage.clock.move(6 * 24 * hourMs);
  await stage.process().look();
  assert.equal(await count(), 0);
});
