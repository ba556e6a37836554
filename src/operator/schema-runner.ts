import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import { applySchema } from './apply-schema.ts';
import type { InstanceCalls } from './instance-calls.ts';
import type { OperatorControl } from './operator-control.ts';
import { type HeldSchemaJob, SchemaWork } from './schema-work.ts';

const pollMs = 500;
/** How many instances are worked on at once: few, as their customers are served by the same processors and disks. */
const instancesAtOnce = 4;
/** How long instances that are being worked on may take to end once the process is to stop. */
const stopMs = 10_000;

export interface SchemaRunnerOptions {
  readonly operator: OperatorControl;
  /** Of the leases. */
  readonly clock: Pick<Clock, 'now'>;
  /** Makes requests to instances, in the name of whoever asked for the job at this address. */
  readonly callsFrom: (address: string) => InstanceCalls;
  readonly logger: Logger;
}

/** Takes up jobs that bring instances to a definition, one at a time. Of several nodes one works on a job. */
export class SchemaRunner {
  readonly #options: SchemaRunnerOptions;
  readonly #work: SchemaWork;
  readonly #holder = newId();
  readonly #stopping = new AbortController();
  #poller: Poller | undefined;
  #running: Promise<void> | undefined;

  constructor(options: SchemaRunnerOptions) {
    this.#options = options;
    this.#work = new SchemaWork(options.operator.home.background, options.clock);
  }

  start(): void {
    const { logger } = this.#options;
    this.#poller = new Poller({
      intervalMs: pollMs,
      poll: () => this.#poll(),
      onError: (error) => logger.warn('Looking for schema jobs failed; retrying.', { error }),
    });
  }

  /** Begins no further instance, and lets those end that have begun. Another process goes on, or the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#poller?.stop();
    await Promise.race([this.#running, sleep(stopMs, undefined, { ref: false })]);
  }

  async #poll(): Promise<void> {
    if (this.#running !== undefined || this.#stopping.signal.aborted) return;
    const job = await this.#work.claim(this.#holder);
    if (job === undefined) return;
    this.#running = this.#run(job).finally(() => {
      this.#running = undefined;
      // The next one need not wait for the next look.
      if (!this.#stopping.signal.aborted) void this.#poller?.look();
    });
  }

  async #run(job: HeldSchemaJob): Promise<void> {
    const letGo = this.#work.keepHeld(job);
    try {
      await this.#workOff(job);
      if (this.#stopping.signal.aborted) await this.#work.release(job);
      else await this.#work.end(job);
    } catch (error) {
      // Its lease ends, and the next look takes it up again.
      this.#options.logger.warn('A schema job was interrupted.', { job: job.id, error });
    } finally {
      letGo();
    }
  }

  async #workOff(job: HeldSchemaJob): Promise<void> {
    const { operator, callsFrom, logger } = this.#options;
    const { signal } = this.#stopping;
    // insertSchemaJob has stored a list of definitions.
    const collections = JSON.parse(job.collections) as readonly JsonObject[];
    const body = { collections, deleteMissing: job.deleteMissing };
    const common = { operator, calls: callsFrom(job.address), job, body, logger, signal };
    const one = async (): Promise<void> => {
      while (!signal.aborted) {
        const task = await this.#work.begin(job);
        if (task === undefined) return;
        const onChange = (changes: string): Promise<boolean> => this.#work.note(job, task, changes);
        const outcome = await applySchema({ ...common, onChange }, task);
        if (outcome === undefined) return;
        await this.#work.settle(job, task, outcome);
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: instancesAtOnce }, one));
    for (const result of ended) if (result.status === 'rejected') throw result.reason;
  }
}
