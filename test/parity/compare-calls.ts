import * as fc from 'fast-check';
import { isOperand } from '../../src/filters/operand.ts';
import { parseFilter } from '../../src/filters/parse.ts';
import { resolveTerm } from '../../src/filters/compile/resolve.ts';
import { sql } from '../../src/sql/sql.ts';
import { arbitraryCalls, type CallWorld } from './arbitrary-calls.ts';
import type { EnginePair, ParityEngine } from './engine-pair.ts';
import { resolverOf } from './world.ts';

export interface CallDifference {
  readonly call: string;
  readonly row: unknown;
  readonly sqlite: unknown;
  readonly postgres: unknown;
}

/** How many values of each kind there were. */
export interface CallTally {
  values: number;
  /** Texts that are not empty, numbers that are not NULL. */
  telling: number;
}

/** Making a table costs as much as a few dozen questions. */
const callsPerWorld = 30;

const now = Date.UTC(2026, 10, 20, 9, 35, 20, 114);

/** Works out at least `cases` values of functions that `seed` makes; the first one of which the engines think differently ends it. */
export async function compareCalls(
  engines: EnginePair,
  { cases, seed }: { readonly cases: number; readonly seed: number },
  tally: CallTally,
): Promise<CallDifference | undefined> {
  let found: CallDifference | undefined;
  const property = fc.asyncProperty(arbitraryCalls(callsPerWorld), async (world) => {
    found ??= await compareWorldOfCalls(engines, world, tally);
  });
  await fc.assert(property, { numRuns: Math.ceil(cases / callsPerWorld ** 2), seed });
  return found;
}

async function compareWorldOfCalls(
  engines: EnginePair,
  world: CallWorld,
  tally: CallTally,
): Promise<CallDifference | undefined> {
  const rows = world.rows.map((row, index) => [String(index + 1), ...row]);
  await Promise.all(engines.map((engine) => engine.makeTable(world, rows)));
  for (const call of world.calls) {
    const [sqlite, postgres] = await Promise.all(engines.map((engine) => valuesOf(engine, world, call)));
    for (const [index, row] of rows.entries()) {
      const [ours, theirs] = [sqlite?.[index], postgres?.[index]];
      tally.values += 1;
      if (ours !== '' && ours !== null) tally.telling += 1;
      if (ours !== theirs || typeof ours === 'undefined')
        return { call, row, sqlite: ours, postgres: theirs };
    }
  }
  return undefined;
}

/** Row by row; the message in each of them where the engine fails. */
async function valuesOf(engine: ParityEngine, world: CallWorld, call: string): Promise<readonly unknown[]> {
  const tree = parseFilter(`${call} = 1`);
  if (tree.kind !== 'comparison') throw new Error(`expected a call: ${call}`);
  const { dialect, reader } = engine;
  const term = resolveTerm(tree.left, { resolve: resolverOf(world.columns, engine.engine), dialect, now });
  if (!isOperand(term)) throw new Error(`expected a call: ${call}`);
  try {
    const tuples = await reader.tuples(sql`SELECT ${term.sql} FROM things ORDER BY "$position"`);
    return tuples.flat();
  } catch (error) {
    return world.rows.map(() => `${engine.engine} failed: ${String(error)}`);
  }
}
