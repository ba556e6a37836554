import { AppError } from '../base/errors.ts';
import type { Labels } from './instance-rows.ts';

const SLUG = /^[a-z][a-z0-9-]{1,39}$/;
const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const LABEL = /^[a-zA-Z0-9_.-]{1,64}$/;

const labelLimits = { labelsMax: 64, valueLengthMax: 255 } as const;

/** Throws bad_request. */
export function requireSlug(slug: string): void {
  if (SLUG.test(slug)) return;
  const message = 'A slug has 2 to 40 characters of a-z, 0-9 and -, and begins with a letter.';
  throw new AppError('bad_request', message);
}

/** Throws bad_request. */
export function requireHost(host: string | null): void {
  if (host === null || HOST.test(host)) return;
  const message = `${JSON.stringify(host)} is not a host name in lower case without a port.`;
  throw new AppError('bad_request', message);
}

/** Throws bad_request. */
export function requireLabels(labels: Labels): void {
  const { labelsMax, valueLengthMax } = labelLimits;
  const all = Object.entries(labels);
  if (all.length > labelsMax)
    throw new AppError('bad_request', `An instance has at most ${labelsMax} labels.`);
  if (!all.every(([name]) => LABEL.test(name)))
    throw new AppError(
      'bad_request',
      'The name of a label has 1 to 64 characters of a-z, A-Z, 0-9, _, . and -.',
    );
  if (!all.every(([, value]) => value.length <= valueLengthMax))
    throw new AppError('bad_request', `The value of a label has at most ${valueLengthMax} characters.`);
}
