import { GenerationMap } from '../base/generation-map.ts';
import type { Database } from './database.ts';

/** What was found, and whether whoever asks the same finds the same until something in the database changes. */
export interface Found<Answer> {
  readonly answer: Answer;
  readonly isLasting: boolean;
}

/** When something was asked for last, and what it was answered if that was asked for in the same state before. */
interface Known<Answer> {
  readonly state: object | undefined;
  readonly answer: Answer | undefined;
}

/** It has been asked for once. */
const noted: Known<never> = { state: undefined, answer: undefined };

interface Asked {
  readonly database: Pick<Database, 'state'>;
  /** As `state` takes it. */
  readonly asOfMs?: number | undefined;
}

interface AnswerMemoryOptions<Answer> {
  /** Of all answers of a generation, in what `lengthOf` tells. */
  readonly lengthMax: number;
  readonly lengthOf: (answer: Answer) => number;
}

/** What an entry takes beside its answer, in characters. */
const entryLength = 200;

/**
 * Answers by what was asked, for as long as the database says that it is in the state in which they were found: nobody has to take
 * one back. One is kept only when it is asked for a second time in one state, so that a database that changes all the time fills no
 * memory with answers that nobody can use; and where something is asked for the first time, nobody asks for the state.
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

  /** What is known by the key, which tells everything that the answer depends on but the database; else what `find` finds. */
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
    // Others may have asked for it meanwhile.
    const known = this.#known.find(key);
    if (known?.state !== state) {
      this.#known.add(key, { state, answer: undefined });
      return (await find()).answer;
    }
    if (known.answer !== undefined) return known.answer;
    const found = await find();
    // If something has changed meanwhile, nobody will find it: no state comes back.
    return this.#keep(key, { state, answer: found.answer }, found);
  }

  /** Only what lasts, and is not long: a few long ones would drive out all others. */
  #keep(key: string, known: Known<Answer>, { answer, isLasting }: Found<Answer>): Answer {
    if (isLasting && this.#options.lengthOf(answer) <= this.#options.lengthMax / 64)
      this.#known.add(key, known);
    return answer;
  }
}
