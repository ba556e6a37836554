import { GenerationMap } from '../base/generation-map.ts';
import type { Database } from './database.ts';

/** What was found, and whether whoever asks the same finds the same until something in the database changes. */
export interface Found<Answer> {
  readonly answer: Answer;
  readonly isLasting: boolean;
}

/** An answer, and the state of the database that it was found in; undefined where it has been asked for once only. */
interface Known<Answer> {
  readonly state: object;
  readonly answer: Answer | undefined;
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
 * memory with answers that nobody can use. A database that cannot tell its state is asked each time.
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
    database: Pick<Database, 'state'>,
    key: string,
    find: () => Promise<Found<Answer>>,
  ): Promise<Answer> {
    const state = database.state();
    if (state === undefined) return (await find()).answer;
    const known = this.#known.find(key);
    const isAskedAgain = known?.state === state;
    if (isAskedAgain && known.answer !== undefined) return known.answer;
    const { answer, isLasting } = await find();
    // If something has changed meanwhile, nobody will find it: no state comes back.
    if (isLasting && this.#isBearable(answer))
      this.#known.add(key, { state, answer: isAskedAgain ? answer : undefined });
    return answer;
  }

  /** A few long ones would drive out all others. */
  #isBearable(answer: Answer): boolean {
    return this.#options.lengthOf(answer) <= this.#options.lengthMax / 64;
  }
}
