import { AppError } from '../base/errors.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { UniqueViolation } from '../storage/engine-errors.ts';
import type { Labels } from './instance-rows.ts';

const SLUG = /^[a-z][a-z0-9-]{1,39}$/;
const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const LABEL = /^[a-zA-Z0-9_.-]{1,64}$/;

const labelLimits = { labelsMax: 64, valueLengthMax: 255 } as const;

/** Throws bad_request. */
export function requireSlug(slug: string): void {
  if (SLUG.test(slug)) return;
  throw invalidMember('slug', 'A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter.');
}

/** Throws bad_request. */
export function requireHost(host: string | null): void {
  if (host === null || HOST.test(host)) return;
  throw invalidMember('host', `${JSON.stringify(host)} is not a host name in lower case without a port.`);
}

/** Throws bad_request. */
export function requireLabels(labels: Labels): void {
  const { labelsMax, valueLengthMax } = labelLimits;
  const all = Object.entries(labels);
  if (all.length > labelsMax) throw invalidMember('labels', `An instance has at most ${labelsMax} labels.`);
  if (!all.every(([name]) => LABEL.test(name)))
    throw invalidMember('labels', 'The name of a label has 1 to 64 characters of a-z, A-Z, 0-9, _, . and -.');
  if (!all.every(([, value]) => value.length <= valueLengthMax))
    throw invalidMember('labels', `The value of a label has at most ${valueLengthMax} characters.`);
}

/** Returns the error for a slug or a host that another instance has. */
export function placeConflict(
  error: UniqueViolation,
  { slug, host }: { readonly slug: string; readonly host: string | null },
): AppError {
  if (error.columns.includes('host')) return takenHost(host, error);
  return takenSlug(slug, error);
}

/** Returns the error for a member of an instance; its message is for the command line as well. */
function invalidMember(name: 'slug' | 'host' | 'labels', message: string, cause?: unknown): AppError {
  return new AppError('bad_request', message, { details: { [name]: invalidValue(message) }, cause });
}

/** Returns the error for a slug that another instance has. */
export function takenSlug(slug: string, cause?: UniqueViolation): AppError {
  return invalidMember('slug', `The slug ${slug} belongs to another instance.`, cause);
}

/** Returns the error for a host that another instance has. */
export function takenHost(host: string | null, cause?: UniqueViolation): AppError {
  return invalidMember('host', `The host ${host} is bound to another instance.`, cause);
}
