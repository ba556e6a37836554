import { parseJsonInTurns } from '../base/json.ts';
import { inTurns, Pauses } from '../base/pieces.ts';
import { pickInSteps, type Projection } from './projection.ts';

/** Numbers, depth and repeated keys were checked when the value was written. */
const noLimits = {
  depthMax: Infinity,
  nodesMax: Infinity,
  uniqueDepth: 0,
  uniqueMembersMax: Infinity,
} as const;

/**
 * Returns JSON texts with only the members that a projection keeps. Other work goes on between the pieces of long ones, and after every
 * so many short ones.
 */
export async function projectTexts(
  texts: readonly string[],
  projection: Projection,
  pauses: Pauses = new Pauses(),
): Promise<readonly string[]> {
  const projected: string[] = [];
  for (const text of texts) projected.push(await projectText(text, projection, pauses));
  return projected;
}

async function projectText(text: string, projection: Projection, pauses: Pauses): Promise<string> {
  const value: unknown = text.length < largeLength ? JSON.parse(text) : await parseLarge(text);
  const result = await inTurns(pickInSteps(value, projection), pauses);
  const json = JSON.stringify(result);
  const pause = pauses.after(text.length + json.length);
  if (pause !== undefined) await pause;
  return json;
}

/** Shorter texts take less than a turn of the event loop may. */
const largeLength = 512 * 1024;

async function parseLarge(text: string): Promise<unknown> {
  try {
    return await parseJsonInTurns(text, noLimits);
  } catch {
    // An imported value may be JSON that no client could send.
    return JSON.parse(text);
  }
}
