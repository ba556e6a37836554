import { GenerationMap } from '../base/generation-map.ts';
import type { Database } from './database.ts';

/** An answer, and whether it is the same for every caller until something in the database changes. */
export interface Found<Answer> {
  readonly answer: Answer;
  readonly isLasting: boolean;
}

/** The state in which a key was last asked for, and the answer if the key had been asked for in that state before. */
interface Known<Answer> {
  readonly state: object | undefined;
  readonly answer: Answer | undefined;
}

/** The entry of a key that has been asked for once. */
const noted: Known<never> = { state: undefined, answer: undefined };

interface Asked {
  readonly database: Pick<Database, 'state'>;
  /** As in `Database.state`. */
  readonly asOfMs?: number | undefined;
}

interface AnswerMemoryOptions<Answer> {
  /** The most that all answers of a generation may take, in the unit of `lengthOf`. */
  readonly lengthMax: number;
  readonly lengthOf: (answer: Answer) => number;
}

/** What an entry takes besides its answer, in characters. */
const entryLength = 200;

/**
 * A cache of answers, each valid for as long as the database is in the state in which it was found: nothing has to be invalidated. An
 * answer is kept only when its key is asked for a second time in the same state, so that a database that changes all the time does
 * not fill memory with useless answers. The first time a key is asked for, not even the state is, which may cost a round trip.
 */
export class AnswerMemory<Answer> {
  readonly #known: GenerationMap<string, Known<Answer>>;
  readonly #options: AnswerMemoryOptions<Answer>;

  constructor(options: AnswerMemoryOptions<Answer>) {
    this.#options = options;
    const lengthOf = ({ answer }: Known<Answer>, key: string): number =>
      entryLength + key.length + (answer === undefined ? 0 : options.lengthOf(answer));
    this.#known = new GenerationMap(options.lengthMax, lengthOf);
  }

  /** Returns the cached answer, else that of `find`. The key covers everything that the answer depends on, except the database. */
  async recall(
    { database, asOfMs }: Asked,
    key: string,
    find: () => Promise<Found<Answer>>,
  ): Promise<Answer> {
    if (this.#known.find(key) === undefined) {
      const first = await find();
      return this.#known.find(key) === undefined ? this.#keep(key, noted, first) : first.answer;
    }
    const told = database.state(asOfMs);
    const state = told instanceof Promise ? await told : told;
    if (state === undefined) return (await find()).answer;
    // Looked up again: during the await others may have asked for it.
    const known = this.#known.find(key);
    if (known?.state !== state) {
      this.#known.add(key, { state, answer: undefined });
      return (await find()).answer;
    }
    if (known.answer !== undefined) return known.answer;
    const found = await find();
    // If something has changed meanwhile, the entry is never found: a state object does not come back.
    return this.#keep(key, { state, answer: found.answer }, found);
  }

  /** Keeps only lasting answers, and no long ones: a few of those would evict all others. */
  #keep(key: string, known: Known<Answer>, { answer, isLasting }: Found<Answer>): Answer {
    if (isLasting && this.#options.lengthOf(answer) <= this.#options.lengthMax / 64)
      this.#known.add(key, known);
    return answer;
  }
}
