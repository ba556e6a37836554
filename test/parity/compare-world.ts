import { AppError } from '../../src/base/errors.ts';
import { parseListQuery } from '../../src/query/list-query.ts';
import type { ListSource } from '../../src/query/list-source.ts';
import { runList } from '../../src/query/run-list.ts';
import { sql } from '../../src/sql/sql.ts';
import type { EnginePair, ParityEngine } from './engine-pair.ts';
import { type Question, resolverOf, type World } from './world.ts';

export interface Difference {
  readonly question: Question;
  readonly sqlite: string;
  readonly postgres: string;
}

/** What was asked, over all worlds. */
export interface Tally {
  questions: number;
  /** Refused by both engines alike. */
  refused: number;
  /** With an answer that is neither empty nor everything. */
  telling: number;
}

/** Friday 20 November 2026, 09:35:20.114 UTC: the moment of spec/filters.json. */
const now = Date.UTC(2026, 10, 20, 9, 35, 20, 114);

/** The first question that the engines answer differently. An error of an engine is an answer, and never the same as another. */
export async function compareWorld(
  engines: EnginePair,
  world: World,
  tally: Tally = { questions: 0, refused: 0, telling: 0 },
): Promise<Difference | undefined> {
  const rows = world.rows.map((row, index) => [String(index + 1), ...row]);
  const [sqlite, postgres] = engines;
  await Promise.all(engines.map((engine) => engine.makeTable(world, rows)));
  for (const question of world.questions) {
    const [ours, theirs] = await Promise.all([
      describeAnswer(sqlite, world, question),
      describeAnswer(postgres, world, question),
    ]);
    tally.questions += 1;
    if (ours.startsWith('refused')) tally.refused += 1;
    else if (/^\d/.test(ours)) tally.telling += 1;
    if (ours !== theirs || ours.startsWith('failed')) return { question, sqlite: ours, postgres: theirs };
  }
  return undefined;
}

/** Ids in order and totals; or the refusal; or the error, which no question may lead to. */
async function describeAnswer(engine: ParityEngine, world: World, question: Question): Promise<string> {
  try {
    const { ids, totals } = await listIds(engine, { world, question, now });
    const isRandom = question.sort?.includes('@random') === true;
    const isTelling = ids.length > 0 && ids.length < world.rows.length;
    return `${isTelling ? '' : 'all or nothing: '}${(isRandom ? ids.toSorted() : ids).join(' ')} of ${totals}`;
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return `refused: ${error.message}`;
    return `failed: ${String(error)}`;
  }
}

export interface Answer {
  readonly ids: readonly string[];
  readonly totals: string;
}

interface Asked {
  readonly world: World;
  readonly question: Question;
  /** Of the macros. */
  readonly now: number;
}

/** A page of the table that the engine has, as any list is read. */
export async function listIds(engine: ParityEngine, { world, question, now }: Asked): Promise<Answer> {
  const query = parseListQuery(new URLSearchParams(Object.entries(question)));
  const list = await runList(engine.reader, query, sourceOf(engine, world, now));
  return {
    ids: list.items.map(([id]) => String(id)),
    totals: `${list.totalItems} on ${list.totalPages}`,
  };
}

function sourceOf({ dialect, engine }: ParityEngine, { columns }: World, now: number): ListSource {
  return {
    columns: sql`id`,
    from: sql`things`,
    tieBreaker: { sql: sql`"$position"`, kind: 'number', isNeverNull: true },
    resolve: resolverOf(columns, engine),
    dialect,
    now,
  };
}
