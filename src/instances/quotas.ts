import { isJsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { fieldError, unknownMembers } from '../fields/field-error.ts';

/**
 * What the operator lets an instance use; one that is absent is not limited.
 *
 *   records, collections, endpoints    how many there may be at once, without those of the system
 *   dataBytes, fileBytes               the size of its tables and indexes, and of its files
 *   requestsPerSecond, writesPerSecond of all its clients together
 *   deliveriesPerDay                   webhooks that are accepted on one day, in UTC
 *   realtimeConnections                open at once
 *   concurrentRequests                 that run at once; more of them wait
 */
export type Quotas = { readonly [Name in QuotaName]?: number };

/** The least and the largest value of each. Those with 1 cannot be 0: to stop an instance, suspend it. */
const quotaRanges = {
  records: [0, 1e12],
  collections: [0, 1e5],
  dataBytes: [0, 1e15],
  fileBytes: [0, 1e15],
  requestsPerSecond: [1, 1e6],
  writesPerSecond: [1, 1e6],
  endpoints: [0, 1e5],
  deliveriesPerDay: [0, 1e12],
  realtimeConnections: [0, 1e6],
  concurrentRequests: [1, 1e3],
} as const satisfies Readonly<Record<string, readonly [min: number, max: number]>>;

export type QuotaName = keyof typeof quotaRanges;

// Object.keys widens the names to strings.
export const quotaNames = Object.keys(quotaRanges) as readonly QuotaName[];

/** Throws bad_request, with a problem for each member that is no quota. */
export function requireQuotas(value: unknown): Quotas {
  const problems = new ProblemList();
  const quotas = isJsonObject(value) ? value : {};
  if (!isJsonObject(value)) problems.add('quotas', fieldError('validation_unsupported_value_type'));
  for (const [name, problem] of Object.entries(unknownMembers(quotas, quotaNames)))
    problems.add(name, problem);
  for (const name of quotaNames) if (Object.hasOwn(quotas, name)) checkQuota(problems, name, quotas[name]);
  problems.throwIfAny('The quotas are not valid.');
  return quotas;
}

function checkQuota(problems: ProblemList, name: QuotaName, value: unknown): void {
  const [min, max] = quotaRanges[name];
  if (typeof value !== 'number') problems.add(name, fieldError('validation_not_a_number'));
  else if (!Number.isInteger(value)) problems.add(name, fieldError('validation_only_int_constraint'));
  else if (value < min) problems.add(name, fieldError('validation_min_number_constraint', { min }));
  else if (value > max) problems.add(name, fieldError('validation_max_number_constraint', { max }));
}
