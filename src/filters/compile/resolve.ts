import { unreachable } from '../../base/assert.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import type { Dialect } from '../dialect.ts';
import { filterError, quote } from '../filter-error.ts';
import type { CallContext, FilterFunction } from '../functions/filter-function.ts';
import { geoDistance } from '../functions/geo-distance.ts';
import { strftime } from '../functions/strftime.ts';
import type { Slot } from '../../sql/slot.ts';
import {
  type Constants,
  type Misuse,
  type Operand,
  type PlainConstant,
  type Resolve,
  type Term,
} from '../operand.ts';
import type { CallNode, IdentifierNode, OperandNode } from '../parse.ts';

/** The functions of http-api 8.2 by name. A Map, because in an object `constructor` would be a known name. */
const functions: ReadonlyMap<string, FilterFunction> = new Map(
  [geoDistance, strftime].map((each) => [each.name, each]),
);

export interface FilterContext {
  readonly resolve: Resolve;
  readonly dialect: Dialect;
  /** The time of macros, in milliseconds since 1970: the same for the whole statement. */
  readonly now: number;
  /** Whether the filter was stored, and not just written: a text beside a date that is no time is then compared as a text, not refused. */
  readonly isStored?: boolean;
  /** Where the statement is kept for other requests: undefined where it is for one. */
  readonly slots?: FilterSlots;
}

/** Gives slots to the constants of a filter that differ from request to request. */
export interface FilterSlots {
  /** The slot of the text or number that is written at this position; undefined where it is part of the statement itself. */
  literal(position: number): Slot | undefined;
  macro(name: string, value: Exclude<PlainConstant, null>): Slot;
  /** Called where the statement holds for this request alone. */
  pin(): void;
}

/** Resolves one side of a comparison. Throws a filter error for a name that does not exist. */
export function resolveTerm(node: OperandNode, context: FilterContext, isAny = false): Term | Constants {
  switch (node.kind) {
    case 'text':
    case 'number':
      return context.slots?.literal(node.position) ?? node.value;
    case 'identifier':
      return resolveIdentifier(node, context, isAny);
    case 'call':
      return resolveCall(node, {
        engine: context.dialect.engine,
        get now() {
          context.slots?.pin();
          return context.now;
        },
        resolve: (argument) => resolveTerm(argument, context),
      });
    default:
      return unreachable(node);
  }
}

function resolveCall(node: CallNode, context: CallContext): Operand {
  const filterFunction = functions.get(node.name);
  if (filterFunction === undefined) throw filterError(`Unknown function ${quote(node.name)}`, node.position);
  return filterFunction.resolve(node, context);
}

/** Resolves a name in the order of http-api 8.2: a field may be called `true`, but never like a macro. */
function resolveIdentifier(node: IdentifierNode, context: FilterContext, isAny: boolean): Term | Constants {
  const macro = macroValue(node.name, context.now);
  if (macro !== undefined) return context.slots?.macro(node.name, macro) ?? macro;
  const resolution = context.resolve(node.name, isAny);
  if (isMisuse(resolution)) throw filterError(resolution.problem, node.position);
  if (resolution !== undefined) return resolution;
  const word = node.name.toLowerCase();
  if (word === 'null') return null;
  if (word === 'true' || word === 'false') return word === 'true' ? 1n : 0n;
  throw filterError(explainUnknown(node.name), node.position);
}

export function isMisuse(resolution: ReturnType<Resolve>): resolution is Misuse {
  return typeof resolution === 'object' && resolution !== null && 'problem' in resolution;
}

/** The message is the same for a hidden field and for one that does not exist, so that the two are indistinguishable. */
export function explainUnknown(name: string): string {
  return name.startsWith('@') ? `Unknown macro ${quote(name)}` : `Unknown field ${quote(name)}`;
}

/** Returns the value of a macro such as `@now`, in UTC, at `now` (milliseconds since 1970); undefined for every other name. */
export function macroValue(name: string, now: number): Exclude<PlainConstant, null> | undefined {
  return macros.get(name)?.(new Date(now));
}

const dayMs = 24 * 60 * 60 * 1000;

type MacroValue = (now: Date) => Exclude<PlainConstant, null>;

const macros: ReadonlyMap<string, MacroValue> = new Map<string, MacroValue>([
  ['@now', (now) => toTimestamp(now.getTime())],
  ['@yesterday', (now) => toTimestamp(now.getTime() - dayMs)],
  ['@tomorrow', (now) => toTimestamp(now.getTime() + dayMs)],
  ['@second', (now) => BigInt(now.getUTCSeconds())],
  ['@minute', (now) => BigInt(now.getUTCMinutes())],
  ['@hour', (now) => BigInt(now.getUTCHours())],
  ['@day', (now) => BigInt(now.getUTCDate())],
  ['@month', (now) => BigInt(now.getUTCMonth() + 1)],
  ['@weekday', (now) => BigInt(now.getUTCDay())],
  ['@year', (now) => BigInt(now.getUTCFullYear())],
  ['@todayStart', (now) => startOf(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())],
  ['@todayEnd', (now) => endBefore(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)],
  ['@monthStart', (now) => startOf(now.getUTCFullYear(), now.getUTCMonth(), 1)],
  ['@monthEnd', (now) => endBefore(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)],
  ['@yearStart', (now) => startOf(now.getUTCFullYear(), 0, 1)],
  ['@yearEnd', (now) => endBefore(now.getUTCFullYear() + 1, 0, 1)],
]);

function startOf(year: number, month: number, day: number): string {
  return toTimestamp(Date.UTC(year, month, day));
}

/** The last millisecond before a day; months and days beyond the calendar's carry over. */
function endBefore(year: number, month: number, day: number): string {
  return toTimestamp(Date.UTC(year, month, day) - 1);
}
