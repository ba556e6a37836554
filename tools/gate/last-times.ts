import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Job, JobEnd } from './job.ts';

/** How long each job took when it ran last, in seconds. A checkout that has just been made knows nothing of it. */
export class LastTimes {
  readonly #path: string;
  readonly #seconds: Map<string, number>;

  constructor(path: string) {
    this.#path = path;
    this.#seconds = new Map(read(path));
  }

  /** Returns the jobs with those first that took longest; those that are not known keep their order before all others. */
  longestFirst(jobs: readonly Job[]): readonly Job[] {
    const secondsOf = ({ name }: Job): number => this.#seconds.get(name) ?? Number.MAX_VALUE;
    return jobs.toSorted((a, b) => secondsOf(b) - secondsOf(a));
  }

  note({ job, seconds }: JobEnd): void {
    this.#seconds.set(job.name, Math.round(seconds * 10) / 10);
  }

  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true });
    writeFileSync(this.#path, JSON.stringify(Object.fromEntries(this.#seconds), undefined, 1));
  }
}

/** A file that is missing or damaged is as good as none. */
function read(path: string): readonly (readonly [name: string, seconds: number])[] {
  try {
    const known: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const entries: readonly (readonly [string, unknown])[] = Object.entries(known ?? {});
    return entries.flatMap(([name, seconds]) =>
      typeof seconds === 'number' ? [[name, seconds] as const] : [],
    );
  } catch {
    return [];
  }
}
