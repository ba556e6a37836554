import { type Caller, operator, reachedEndpoints } from '../../access/caller.ts';
import { AppError, type FieldErrors } from '../../base/errors.ts';
import { invalidValue } from '../../fields/field-error.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import { averageEventsPerDay } from '../log/count-events.ts';
import { readMetShare } from '../log/test-filter.ts';
import type { ConditionContext } from '../../endpoints/endpoint-conditions.ts';
import { standardSchedule } from '../delivery.ts';
import { contextOf, type EndpointSaving } from './change-endpoint.ts';
import { checkTarget, type EndpointSettings, type OptionContext } from '../../endpoints/endpoint-options.ts';
import { ownedBody, refusedMembers, requireEndpoint } from '../../endpoints/endpoint-reach.ts';
import { certificateWarnings } from '../../sending/client-certificate.ts';
import { filterWarnings } from '../../endpoints/filter-warnings.ts';
import {
  decodeSecret,
  decodeStatus,
  type Endpoint,
  readSettings,
  refuseFixed,
} from '../../endpoints/endpoint.ts';

type Body = Readonly<Record<string, unknown>>;

/** The result of creating an endpoint with these members, or changing one. */
export interface EndpointCheck {
  /** By member, as in the response that would reject it. */
  readonly problems: FieldErrors;
  readonly url: UrlVerdict;
  /**
   * How many events it would get on an average day; null while its events, collections or filter have a problem, and with an owner, who must not learn about other events.
   */
  readonly eventsPerDay: number | null;
  /** Probable mistakes in its filter, in words. */
  readonly warnings: readonly string[];
  /** Seconds from the first attempt to each that would follow; empty while its schedule has a problem. */
  readonly retries: readonly number[];
}

interface UrlVerdict {
  readonly isAllowed: boolean;
  /** Why it is not, in words; empty where it is. */
  readonly reason: string;
  /** The flag that would allow it: for the operator alone. */
  readonly remedy?: string;
}

/** Checks the members of a new endpoint, or of a change where `id` names one. Connects nowhere and stores nothing. */
export async function checkEndpoint(
  saving: EndpointSaving,
  body: Body,
  policy: NetworkPolicy,
): Promise<EndpointCheck> {
  const { database, endpoints, clock, caller = operator } = saving;
  const { id } = body;
  const isNew = id === undefined || id === '';
  requireDraft(caller, id);
  const all = await endpoints.all(database);
  const existing = isNew ? undefined : all.find((endpoint) => endpoint.id === id);
  const others = all.filter((endpoint) => endpoint !== existing);
  const context = { ...contextOf(saving, policy, others), ...(existing && { existing }) };
  const refused = existing === undefined ? {} : refusedMembers(caller, body, existing);
  const members = existing === undefined ? ownedBody(caller, body) : without(body, Object.keys(refused));
  const { settings, problems: ofSettings } = readSettings(members, context);
  const problems: FieldErrors = {
    ...(!isNew && existing === undefined && { id: invalidValue('There is no such endpoint.') }),
    ...problemsOf((failed) => checkFixed(body, existing, failed)),
    ...ofSettings,
    ...refused,
  };
  const has = (name: string): boolean => Object.hasOwn(problems, name);
  return {
    problems,
    url: verdictOf(body['url'] ?? existing?.url, context),
    eventsPerDay:
      ['events', 'collections', 'filter'].some(has) || settings.owner !== ''
        ? null
        : await averageEventsPerDay(database, settings, {
            now: clock.now(),
            ...(settings.filter !== '' && { shareOf: shareOf(saving, settings, context) }),
          }),
    warnings: [
      ...(has('filter') || has('collections') || has('owner') ? [] : filterWarnings(settings, context)),
      ...(has('clientCertificate') ? [] : certificateWarnings(settings.clientCertificate, context.now)),
    ],
    retries: has('schedule') || has('maxAgeSeconds') ? [] : retriesOf(settings),
  };
}

/** Returns what says which part of the events of a collection meets the filter. */
function shareOf(
  { database, collections }: EndpointSaving,
  settings: EndpointSettings,
  context: ConditionContext,
): (collectionId: string) => Promise<number> {
  return async (id) => {
    const collection = collections.find(id);
    return collection === undefined ? 0 : readMetShare(database, settings, { collection, context });
  };
}

/** Throws not_found where a key that is bound to endpoints drafts a change of another, or a new one: that key must not learn what it would get. */
function requireDraft(caller: Caller, id: unknown): void {
  if (caller.kind === 'user' && (id === undefined || id === '')) return;
  if (reachedEndpoints(caller) !== null) requireEndpoint(caller, typeof id === 'string' ? id : '');
}

/** Returns a body without these members, which are not read: their errors would show what exists. */
function without(body: Body, names: readonly string[]): Body {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** Throws bad_request with the problems of the members that cannot be changed later. */
function checkFixed(body: Body, existing: Endpoint | undefined, failed: string): void {
  if (existing !== undefined) {
    refuseFixed(body, existing, failed);
    return;
  }
  const problems = {
    ...problemsOf(() => decodeStatus(body, failed)),
    ...problemsOf(() => decodeSecret(body, failed)),
  };
  if (Object.keys(problems).length > 0) throw new AppError('bad_request', failed, { details: problems });
}

/** Returns the problems for which a body would be rejected. */
function problemsOf(decode: (failed: string) => unknown): FieldErrors {
  try {
    decode('');
    return {};
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return error.details;
    throw error;
  }
}

function verdictOf(url: unknown, context: OptionContext): UrlVerdict {
  if (typeof url !== 'string' || url === '') return { isAllowed: false, reason: 'There is no URL.' };
  const check = checkTarget(url, context);
  if (check.kind === 'accepted') return { isAllowed: true, reason: '' };
  const { kind: _, ...refusal } = check;
  return { isAllowed: false, ...refusal };
}

/** Returns when attempts follow the first one, if each fails at once: Retry-After may add time, and each delay varies by a quarter. */
function retriesOf({ schedule, maxAgeSeconds }: EndpointSettings): readonly number[] {
  let seconds = 0;
  const all = (schedule ?? standardSchedule).map((delay) => (seconds += delay));
  return maxAgeSeconds === null ? all : all.filter((at) => at <= maxAgeSeconds);
}
