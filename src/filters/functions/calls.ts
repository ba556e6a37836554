import { filterError, quote } from '../filter-error.ts';
import type { Operand } from '../operand.ts';
import type { CallNode } from '../parse.ts';
import type { CallContext, FilterFunction } from './filter-function.ts';
import { geoDistance } from './geo-distance.ts';
import { strftime } from './strftime.ts';

/** The functions of http-api 8.2 by name. A Map, because in an object `constructor` would be a known name. */
const functions: ReadonlyMap<string, FilterFunction> = new Map(
  [geoDistance, strftime].map((each) => [each.name, each]),
);

export function resolveCall(node: CallNode, context: CallContext): Operand {
  const found = functions.get(node.name);
  if (found === undefined) throw filterError(`Unknown function ${quote(node.name)}`, node.position);
  return found.resolve(node, context);
}
