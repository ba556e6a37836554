import type { RuleInput } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Instance } from '../instances/instance.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { type DeleteRecordRequest, findDeletable } from './delete-record.ts';
import { runStep } from './removal-steps.ts';
import {
  claimJob,
  hasJobs,
  holdJob,
  insertJob,
  type Lease,
  releaseJob,
  type RemovalJob,
  saveJob,
} from './removal-store.ts';
import { idOf } from './release-references.ts';

const intervalMs = 5_000;
/** How long the lease of a process that has died blocks others. A step takes far less. */
const leaseMs = 15_000;
/** How long the jobs of one instance run before the next instance's turn. */
const turnMs = 250;
/** Failures in a row after which a job is given up. */
const failuresMax = 10;

export interface RemovalRunnerOptions {
  readonly borrow: (
    instanceId: string,
  ) => Promise<{ readonly instance: Instance; release(): void } | undefined>;
  /** Finds the instances with a waiting job that another node may have begun; left out where `wake` is called for these. */
  readonly findDue?: (() => Promise<readonly string[]>) | undefined;
  readonly logger: Logger;
}

/**
 * Runs deletes in steps: whose clients no longer wait, or whose process has died. Instances take turns.
 */
export class RemovalRunner {
  readonly #options: RemovalRunnerOptions;
  /** Prefix of each holder's name: distinguishes jobs of a process that has died from those of this one. */
  readonly #process = newId();
  readonly #waiting = new Set<string>();
  readonly #failures = new Map<string, number>();
  #running: Promise<void> | undefined;
  #poller: Poller | undefined;
  #isStopping = false;

  constructor(options: RemovalRunnerOptions) {
    this.#options = options;
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void =>
      logger.warn('Looking for large deletes failed; retrying.', { error });
    this.#poller = new Poller({ intervalMs, poll: () => this.#look(), onError });
    void this.#poller.look();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#poller?.stop();
    while (this.#running !== undefined) await this.#running;
  }

  /**
   * Deletes a record to which many others refer. Returns the job: done, or one that goes on after `waitMs`. Throws what a delete throws;
   * bad_request, with nothing changed, if a record that refers to it must keep its reference.
   */
  async remove(
    instance: Instance,
    input: RuleInput,
    { waitMs, ...request }: DeleteRecordRequest & { readonly waitMs: number },
  ): Promise<Pick<RemovalJob, 'id' | 'state'>> {
    const holder = this.#newHolder();
    const id = await instance.database.write(async (tx) => {
      const record = await findDeletable({ instance, input, tx }, request);
      const removed = {
        collection: record.collection,
        record: idOf(record),
        lease: leaseOf(instance, holder),
      };
      return insertJob(tx, { instance, input }, removed);
    });
    const endMs = instance.clock.monotonic() + waitMs;
    let job: Pick<RemovalJob, 'id' | 'state'> = { id, state: 'checking' };
    while (instance.clock.monotonic() < endMs && !this.#isStopping) {
      const next = await advance(instance, id, holder);
      if (next === undefined) break;
      job = next;
      if (next.state === 'failed') throw refusal(next);
      if (next.state === 'done') return job;
    }
    await instance.database.write((tx) => releaseJob(tx, id, leaseOf(instance, holder)));
    this.wake(instance.id);
    return job;
  }

  async #look(): Promise<void> {
    for (const id of (await this.#options.findDue?.()) ?? []) this.wake(id);
  }

  /** Runs the jobs of an instance that nobody works on. */
  wake(instanceId: string): void {
    if (this.#isStopping) return;
    this.#waiting.add(instanceId);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // What is added meanwhile comes last.
    for (const id of this.#waiting) {
      if (this.#isStopping) break;
      this.#waiting.delete(id);
      try {
        if (await this.#takeTurn(id)) this.#waiting.add(id);
      } catch (error) {
        this.#options.logger.warn('A step of a large delete failed; retrying.', { instance: id, error });
        setTimeout(() => this.wake(id), intervalMs).unref();
      }
    }
    this.#running = undefined;
  }

  /** Returns whether there may be more to do. */
  async #takeTurn(instanceId: string): Promise<boolean> {
    const loan = await this.#options.borrow(instanceId);
    if (loan === undefined) return false;
    const { instance } = loan;
    const holder = this.#newHolder();
    try {
      if (!(await hasJobs(instance.database))) return false;
      const now = instance.dueClock.now();
      const claim = { lease: leaseOf(instance, holder), process: this.#process, now };
      const id = await instance.database.write((tx) => claimJob(tx, claim));
      if (id === undefined) return false;
      await this.#advanceFor(instance, id, holder);
      return true;
    } finally {
      loan.release();
    }
  }

  async #advanceFor(instance: Instance, id: string, holder: string): Promise<void> {
    const endMs = instance.clock.monotonic() + turnMs;
    try {
      while (instance.clock.monotonic() < endMs && !this.#isStopping) {
        const job = await advance(instance, id, holder);
        this.#failures.delete(id);
        if (job === undefined || job.state === 'done' || job.state === 'failed') return;
      }
    } catch (error) {
      const failures = (this.#failures.get(id) ?? 0) + 1;
      this.#failures.set(id, failures);
      if (failures < failuresMax || !(error instanceof AppError)) throw error;
      this.#failures.delete(id);
      await giveUp(instance, { id, holder }, error.message);
    } finally {
      await instance.database.write((tx) => releaseJob(tx, id, leaseOf(instance, holder)));
    }
  }

  #newHolder(): string {
    return `${this.#process}/${newId()}`;
  }
}

/** Returns the ids of the instances that share a PostgreSQL database and have a job on which nobody works. */
export async function readWaitingInstances(database: Database, now: number): Promise<readonly string[]> {
  const rows = await database.tuples(sql`
    SELECT DISTINCT instance_id FROM chancery.job
    WHERE state IN ('checking', 'running', 'stopping') AND held_until <= ${now}`);
  return rows.map(([id]) => String(id));
}

function leaseOf({ dueClock }: Instance, holder: string): Lease {
  return { holder, until: dueClock.now() + leaseMs };
}

/** Does one step; undefined when another process has claimed the job. An error that rejects the delete stops the job. */
async function advance(instance: Instance, id: string, holder: string): Promise<RemovalJob | undefined> {
  try {
    return await instance.database.write(async (tx) => {
      const job = await holdJob(tx, id, leaseOf(instance, holder));
      if (job === undefined) return undefined;
      const next = await runStep({ instance, input: job.input, tx }, job);
      await saveJob(tx, next, instance.clock.now());
      return next;
    });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    return giveUp(instance, { id, holder }, error.message);
  }
}

function giveUp(
  instance: Instance,
  { id, holder }: { readonly id: string; readonly holder: string },
  cause: string,
): Promise<RemovalJob | undefined> {
  return instance.database.write(async (tx) => {
    const job = await holdJob(tx, id, leaseOf(instance, holder));
    if (job === undefined) return undefined;
    const stopping = { ...job, state: 'stopping', cause } as const;
    await saveJob(tx, stopping, instance.clock.now());
    return stopping;
  });
}

function refusal({ id, cause, deleted, changed }: RemovalJob): AppError {
  const left = deleted + changed === 0 ? '' : ` See /api/jobs/${id} for what was deleted.`;
  return new AppError('bad_request', cause + left);
}
