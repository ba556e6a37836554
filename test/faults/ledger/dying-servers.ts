import type { CrashPlan } from '../crash-points.ts';
import type { CrashingServerOptions } from '../crashing-server.ts';
import { environment } from '../prepare-instances.ts';
import { Random } from '../random.ts';
import { ServerProcess } from '../server-process.ts';

/** How the next death comes about: at the latest after this time, or before that where a server is to die at a named point. */
export interface Death {
  readonly afterMs: number;
  readonly plan: CrashPlan | undefined;
}

/** What a server logs that is too busy: requests that it refused, and a step of a replay that will be tried again, with its stack. */
const busy =
  /^(?:\d+ requests? (?:was|were) answered 503: .*|A step of a replay failed; retrying\. .* QueryTimeout: .*\n(?: .*\n|\}\n?)*)$/gm;

/** The servers of a run: one on a folder, or several nodes on a database. One dies and is replaced, again and again. */
export class DyingServers {
  readonly violations: string[] = [];
  /** How often instances were moved between threads. */
  moves = 0;
  readonly #place: Pick<CrashingServerOptions, 'data' | 'postgres' | 'isWithoutWarnings'>;
  readonly #isMoving: boolean;
  readonly #mayBeBusy: boolean;
  readonly #random: Random;
  /** Of its own, as nobody knows how often it is asked. */
  readonly #choices: Random;
  #servers: ServerProcess[] = [];

  constructor(
    place: {
      readonly data: string;
      readonly postgres: string | undefined;
      readonly isMoving?: boolean;
      /** Whether they may log that they were too busy to answer. */
      readonly mayBeBusy?: boolean;
    },
    random: Random,
  ) {
    const { data, postgres, isMoving = false, mayBeBusy = false } = place;
    this.#isMoving = isMoving;
    this.#mayBeBusy = mayBeBusy;
    this.#place = { data, ...(postgres !== undefined && { postgres }), isWithoutWarnings: true };
    this.#random = random;
    this.#choices = new Random(random.integer(0, 2 ** 31));
  }

  get isAnyoneLeft(): boolean {
    return this.#servers.length > 0;
  }

  /** Where one of them listens; undefined while none does. */
  url(): string | undefined {
    const running = this.#servers.filter(({ isRunning }) => isRunning);
    return this.#choices.pick(running)?.url;
  }

  /** The ids of their processes, of those that run. */
  pids(): readonly number[] {
    return this.#servers.flatMap(({ isRunning, pid }) => (isRunning && pid !== undefined ? [pid] : []));
  }

  /** Returns false if it came to the point at which it was to die before it listened, and another one was started. */
  async start(plan?: CrashPlan): Promise<boolean> {
    const crash = plan === undefined ? {} : { crash: plan };
    const moves = this.#isMoving ? { moves: this.#random.integer(0, 2 ** 31) } : {};
    try {
      this.#servers.push(await ServerProcess.start({ ...this.#place, ...crash, ...moves }, environment));
      return true;
    } catch (error) {
      if (plan === undefined) throw error;
      await this.start();
      return false;
    }
  }

  /** Waits for a death as planned, or kills one of them. Returns whether it died as planned. */
  async die({ afterMs }: Pick<Death, 'afterMs'>): Promise<boolean> {
    const victim = this.#random.pick(this.#servers);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), afterMs)));
    const dead = await Promise.race([
      late,
      ...this.#servers.map((server) => server.ended.then(() => server)),
    ]);
    clearTimeout(timer);
    const server = dead ?? victim;
    if (server === undefined) throw new Error('no server to kill');
    const end = await server.signal('SIGKILL');
    if (end.signal !== 'SIGKILL') this.violations.push(`a server ended by itself: ${server.log.join('')}`);
    this.#forget(server);
    return dead !== undefined;
  }

  /** Stops them gracefully. One that comes only now to the point at which it is to die does so. */
  async stop(): Promise<void> {
    for (const server of this.#servers) {
      const end = await server.signal('SIGTERM');
      if (end.code !== 0 && end.signal !== 'SIGKILL')
        this.violations.push(`a stop ended with ${JSON.stringify(end)}: ${server.log.join('')}`);
      this.#forget(server);
    }
  }

  async kill(): Promise<void> {
    for (const server of this.#servers) await server.signal('SIGKILL');
  }

  #forget(server: ServerProcess): void {
    this.moves += server.printed.length;
    const log = server.log.join('');
    const wrong = (this.#mayBeBusy ? log.replaceAll(busy, '') : log)
      .split('\n')
      .filter((line) => line !== '');
    if (wrong.length > 0) this.violations.push(`a server logged: ${wrong.join('\n')}`);
    this.#servers = this.#servers.filter((other) => other !== server);
  }
}
