import { unreachable } from '../../base/assert.ts';
import type { AppError } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { joinSql, sql } from '../../sql/sql.ts';
import type { Coordinate, Dialect, TimeCall } from '../dialect.ts';
import { filterError, filterLimits, quote } from '../filter-error.ts';
import { type Constants, isOperand, numberOfText, type Operand, type Term } from '../operand.ts';
import { parseTimeFormat, parseTimeModifier, type TimeFormat, type TimeModifier } from './time-arguments.ts';
import type { CallNode, OperandNode } from '../parse.ts';

export interface CallContext {
  readonly dialect: Dialect;
  /** In milliseconds since 1970. */
  readonly now: number;
  /** What an identifier among the arguments stands for. */
  readonly resolve: (node: OperandNode) => Term | Constants;
}

/**
 * Resolves the two functions of http-api 8.2. Their arguments cannot be calls, so functions are never nested. Whatever an engine would
 * refuse in an argument is refused here with a filter error.
 */
export function resolveCall(node: CallNode, context: CallContext): Operand {
  switch (node.name) {
    case 'geoDistance':
      return geoDistance(node, context);
    case 'strftime':
      return strftime(node, context);
    default:
      throw filterError(`Unknown function ${quote(node.name)}`, node.position);
  }
}

const earthRadiusKm = 6_371;

function geoDistance(node: CallNode, { dialect, resolve }: CallContext): Operand {
  const [lonA, latA, lonB, latB, ...more] = node.arguments;
  if (
    lonA === undefined ||
    latA === undefined ||
    lonB === undefined ||
    latB === undefined ||
    more.length > 0
  ) {
    throw filterError(
      `Expected 4 arguments of "geoDistance" (lonA, latA, lonB, latB) and found ${node.arguments.length}`,
      node.position,
    );
  }
  const toCoordinate = (argument: OperandNode): Coordinate => coordinateOf(argument, resolve);
  const places = {
    lonA: toCoordinate(lonA),
    latA: toCoordinate(latA),
    lonB: toCoordinate(lonB),
    latB: toCoordinate(latB),
  };
  const distance = dialect.geoDistance({ ...places, radiusKm: earthRadiusKm });
  // `many` is left out: where a row has many values, the distance uses only the one that the rest of the condition uses (http-api 8.2).
  const guards = Object.values(places).flatMap((place) =>
    isOperand(place) && place.guard !== undefined ? [sql`(${place.guard})`] : [],
  );
  return guards.length === 0 ? distance : { ...distance, guard: joinSql(guards, ' AND ') };
}

function coordinateOf(argument: OperandNode, resolve: CallContext['resolve']): Coordinate {
  if (argument.kind === 'text' || argument.kind === 'call')
    throw wrongArgument('a field or a number', argument);
  const term = resolve(argument);
  if (isOperand(term)) {
    if (term.kind === 'text' || term.kind === 'date') throw wrongArgument('a field of numbers', argument);
    return term;
  }
  const constant = toConstant(term, argument);
  // Values of the request's query are always texts.
  return typeof constant === 'string' ? (numberOfText(constant) ?? null) : constant;
}

function strftime(node: CallNode, context: CallContext): Operand {
  const [format, time, ...modifiers] = node.arguments;
  if (format === undefined || node.arguments.length > filterLimits.timeArgumentsMax) {
    throw filterError(
      `Expected 1 to ${filterLimits.timeArgumentsMax} arguments of "strftime" and found ${node.arguments.length}`,
      node.position,
    );
  }
  const now = toTimestamp(context.now);
  const call = {
    format: formatOf(format),
    modifiers: modifiers.map((modifier, index) => modifierOf(modifier, index === 0)),
    now,
  };
  const given = time === undefined ? now : timeOf(time, { now, resolve: context.resolve });
  if (!isOperand(given)) return context.dialect.strftime({ ...call, time: given });
  const { guard, many, isNeverNull: _, ...operand } = given;
  const make = (from: Operand): Operand => context.dialect.strftime({ ...call, time: from });
  return {
    ...make(operand),
    ...(guard && { guard }),
    ...(many && { many: { rows: many.rows, operand: make(many.operand) } }),
  };
}

function formatOf(argument: OperandNode): TimeFormat {
  if (argument.kind !== 'text') throw wrongArgument('a format in quotes', argument);
  if (argument.value.length > filterLimits.timeFormatLengthMax) {
    throw filterError(
      `Expected at most ${filterLimits.timeFormatLengthMax} characters in a format; more`,
      argument.position,
    );
  }
  const format = parseTimeFormat(argument.value);
  if ('unknown' in format)
    throw filterError(`Unknown part ${quote(format.unknown)} of the format`, argument.position);
  return format;
}

function modifierOf(argument: OperandNode, isFirst: boolean): TimeModifier {
  if (argument.kind !== 'text') throw wrongArgument('a modifier in quotes', argument);
  const modifier = parseTimeModifier(argument.value);
  if (modifier === undefined)
    throw filterError(`Unknown modifier ${quote(argument.value)} of a time`, argument.position);
  if (modifier.kind === 'unixepoch' && !isFirst)
    throw filterError('Expected "unixepoch" before all other modifiers', argument.position);
  return modifier;
}

interface TimeSource {
  readonly now: string;
  readonly resolve: CallContext['resolve'];
}

function timeOf(argument: OperandNode, { now, resolve }: TimeSource): TimeCall['time'] {
  if (argument.kind === 'call') throw wrongArgument('a field, a number or a text', argument);
  const term = resolve(argument);
  if (isOperand(term)) return term;
  const constant = toConstant(term, argument);
  return typeof constant === 'string' ? readableTime(constant, now) : constant;
}

/** Treats a constant text as the engines treat the text of a row; null when it is no time. */
function readableTime(text: string, now: string): string | null {
  const word = text.toLowerCase();
  if (word === 'now') return now;
  const hasManyDigits = new RegExp(`\\d{${filterLimits.timeDigitsMax + 1}}`).test(text);
  const isLong = Buffer.byteLength(text) > filterLimits.timeLengthMax;
  return isLong || hasManyDigits || word === 'subsec' || word === 'subsecond' ? null : text;
}

function toConstant(term: Exclude<Term, Operand> | Constants, argument: OperandNode): string | number | null {
  if (typeof term === 'object' && term !== null)
    throw filterError('Expected one value as an argument and found a list', argument.position);
  return typeof term === 'bigint' ? Number(term) : term;
}

function wrongArgument(wanted: string, argument: OperandNode): AppError {
  return filterError(`Expected ${wanted} as an argument and found ${describe(argument)}`, argument.position);
}

function describe(argument: OperandNode): string {
  switch (argument.kind) {
    case 'call':
      return `the function ${quote(argument.name)}`;
    case 'identifier':
      return quote(argument.name);
    case 'number':
      return `the number ${argument.value}`;
    case 'text':
      return `the text ${quote(argument.value)}`;
    default:
      return unreachable(argument);
  }
}
