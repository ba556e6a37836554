import { AppError } from '../base/errors.ts';
import { listLimits } from './list-limits.ts';

/** What `fields` asks of an object: the members it names, and with `*` all others as well. */
export interface Projection {
  readonly keepsRest: boolean;
  /** `true` keeps the member as it is. */
  readonly members: ReadonlyMap<string, Projection | true>;
}

interface MutableProjection {
  keepsRest: boolean;
  readonly members: Map<string, MutableProjection | true>;
}

/** `id,title,expand.author.name,*`: undefined when nothing is named, which keeps everything. Throws AppError `bad_request`. */
export function parseFields(text: string): Projection | undefined {
  if (text.length > listLimits.fieldsLengthMax)
    throw refusal(`Expected at most ${listLimits.fieldsLengthMax} characters in fields.`);
  const root: MutableProjection = { keepsRest: false, members: new Map() };
  for (const item of text.split(',')) {
    const path = item.trim();
    if (path.includes(':')) throw refusal(explainModifier(path));
    if (path !== '') addPath(root, path.split('.'));
  }
  return root.keepsRest || root.members.size > 0 ? root : undefined;
}

function explainModifier(path: string): string {
  const modifier = path.slice(path.indexOf(':') + 1).split('(', 1)[0] ?? '';
  return modifier === 'excerpt'
    ? 'The modifier ":excerpt" is not supported yet.'
    : 'Expected no modifier but ":excerpt" in fields.';
}

/** A member that is asked for as a whole stays whole, whatever else is asked of it. */
function addPath(root: MutableProjection, steps: readonly string[]): void {
  let at = root;
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    if (step === '*' && isLast) {
      at.keepsRest = true;
      return;
    }
    const member = at.members.get(step);
    if (member === true) return;
    if (isLast) {
      at.members.set(step, true);
      return;
    }
    const next = member ?? { keepsRest: false, members: new Map<string, MutableProjection | true>() };
    at.members.set(step, next);
    at = next;
  }
}

/** What is kept of a member: `true` all, undefined nothing, or what a longer path asks of it. */
export function memberOf(projection: Projection, name: string): Projection | true | undefined {
  return projection.members.get(name) ?? (projection.keepsRest ? true : undefined);
}

/**
 * A JSON value with only what is asked for, its members in their order. Arrays are mapped; what is no object is kept as it is,
 * because a path may go further than a value does. The value given is not changed.
 */
export function pickFields(value: unknown, projection: Projection): unknown {
  if (Array.isArray(value)) return value.map((item) => pickFields(item, projection));
  if (typeof value !== 'object' || value === null) return value;
  const kept: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    const part = memberOf(projection, name);
    if (part === undefined) continue;
    kept.push([name, part === true ? member : pickFields(member, part)]);
  }
  // Not by assignment: that would take a member `__proto__` of a json field for the prototype.
  return Object.fromEntries(kept);
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message, {
    details: { fields: { code: 'validation_invalid_value', message } },
  });
}
