import type { Caller } from '../access/caller.ts';
import { GenerationCache } from '../base/cache.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import type { FilterTree, OperandNode } from '../filters/parse.ts';
import type { SortKey } from '../filters/sort.ts';
import type { Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

/** An answer, and whether it is the same for every caller until something in the database changes. */
export interface CacheEntry<Answer> {
  readonly answer: Answer;
  readonly isCacheable: boolean;
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
export class AnswerCache<Answer> {
  readonly #known: GenerationCache<string, Known<Answer>>;
  readonly #options: AnswerMemoryOptions<Answer>;

  constructor(options: AnswerMemoryOptions<Answer>) {
    this.#options = options;
    const lengthOf = ({ answer }: Known<Answer>, key: string): number =>
      entryLength + key.length + (answer === undefined ? 0 : options.lengthOf(answer));
    this.#known = new GenerationCache(options.lengthMax, lengthOf);
  }

  /** Returns the cached answer, else that of `find`. The key covers everything that the answer depends on, except the database. */
  async getOrRun(
    { database, asOfMs }: Asked,
    key: string,
    find: () => Promise<CacheEntry<Answer>>,
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
  #keep(key: string, known: Known<Answer>, { answer, isCacheable: isLasting }: CacheEntry<Answer>): Answer {
    if (isLasting && this.#options.lengthOf(answer) <= this.#options.lengthMax / 64)
      this.#known.add(key, known);
    return answer;
  }
}

/**
 * The number that stands in keys for the SQL which writes a record's JSON. Such an SQL belongs to one definition of one
 * collection of one instance.
 */
const numbers = new WeakMap<Sql, number>();
let lastNumber = 0;

interface Asker {
  readonly collections: Pick<CollectionStore, 'version'>;
  /** Undefined where the answer is the same for everyone whom the rule admits. */
  readonly caller: Caller | undefined;
}

/**
 * Returns a key of all that an answer depends on, except the stored records: how they are written, by which definitions, what was
 * asked for, and, where a rule may have asked about the caller, who that is. U+0000 separates the parts: no value that a client
 * sends holds it.
 */
export function answerKey(json: Sql, { collections, caller }: Asker, asked: readonly string[]): string {
  const number = numbers.get(json) ?? (lastNumber += 1);
  numbers.set(json, number);
  let key = `${number}/${collections.version}`;
  if (caller !== undefined) key += `\u0000${callerKey(caller)}`;
  for (const text of asked) key += `\u0000${text}`;
  return key;
}

function callerKey(caller: Caller): string {
  return caller.kind === 'user' ? `${caller.collectionId}/${caller.id}` : caller.kind;
}

interface Question {
  readonly filter?: FilterTree | undefined;
  readonly sort?: readonly SortKey[];
  /**
   * What is assumed not to change: the collection's `definition`, so that only its own fields may be named; or the `state` of the whole
   * database, so that related records and, for one caller, the caller's own may be named as well.
   */
  readonly within: 'definition' | 'state';
}

/** True when a filter and a sort mean the same in every request: nothing in them depends on the time or on the request. */
export function isCacheable({ filter, sort = [], within }: Question): boolean {
  const isLastingName = within === 'state' ? isStored : isField;
  return (
    sort.every(({ name }) => isLastingName(name)) &&
    (filter === undefined || isLastingFilter(filter, isLastingName))
  );
}

function isLastingFilter(tree: FilterTree, isLastingName: (name: string) => boolean): boolean {
  if (tree.kind !== 'comparison') return tree.items.every((item) => isLastingFilter(item, isLastingName));
  return isLastingOperand(tree.left, isLastingName) && isLastingOperand(tree.right, isLastingName);
}

/** Calls never count as lasting, because functions may depend on the time. */
function isLastingOperand(node: OperandNode, isLastingName: (name: string) => boolean): boolean {
  if (node.kind === 'call') return false;
  return node.kind !== 'identifier' || isLastingName(node.name);
}

/** True for a plain name, which can only be a field of the collection. */
function isField(name: string): boolean {
  return /^\w+$/.test(name);
}

/** True for a path to a field of any stored record; false for macros and for other parts of the request. */
function isStored(name: string): boolean {
  return !name.startsWith('@') || name.startsWith('@request.auth.') || name.startsWith('@collection.');
}
