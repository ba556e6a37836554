import { reaches, requireReach } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Collection } from '../collections/collection.ts';
import { ruleError } from '../definitions/check-rules.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { collectionsOf } from '../query/record-scope.ts';
import { planWithoutReading } from './list-records.ts';

export interface FilterCheck {
  readonly isValid: boolean;
  /** The error of a list or a definition that uses it; empty if it is valid. */
  readonly message: string;
  /** Where in the text, in UTF-16 units from 0; null if it is valid. */
  readonly position: number | null;
}

/**
 * Parses and compiles a filter, a sort or a rule as its use would, and reads no record. For superusers, as a filter may name everything.
 * Throws not_found (collection), forbidden (an API key that does not reach it), bad_request (the body).
 */
export function checkFilter(
  instance: Instance,
  input: RuleInput,
  request: { readonly collection: string; readonly body: JsonObject },
): Promise<FilterCheck> {
  return readCurrentCollection(instance, request.collection, async (collection) => {
    requireReach(input.caller, collection);
    const error = errorOf(instance, input, { collection, draft: decodeDraft(request.body) });
    if (error === undefined) return { isValid: true, message: '', position: null };
    return { isValid: false, message: error.message, position: positionOf(error) };
  });
}

interface Draft {
  readonly kind: 'filter' | 'sort' | 'rule';
  readonly text: string;
}

const kinds: readonly Draft['kind'][] = ['filter', 'sort', 'rule'];

function decodeDraft(body: JsonObject): Draft {
  const failed = 'The filter could not be checked.';
  const problems: Record<string, FieldError | FieldErrors> = { ...unknownMembers(body, kinds) };
  const [kind, ...others] = kinds.filter((one) => body[one] !== undefined);
  if (kind === undefined) problems['filter'] = fieldError('validation_required');
  for (const other of others)
    problems[other] = invalidValue('Only one of filter, sort and rule can be checked.');
  const text = kind === undefined ? '' : body[kind];
  const isText = typeof text === 'string' || (kind === 'rule' && text === null);
  if (kind !== undefined && !isText) problems[kind] = invalidValue('Must be a text.');
  if (kind === undefined || !isText || Object.keys(problems).length > 0)
    throw new AppError('bad_request', failed, { details: problems });
  // A null rule is valid, as an empty one.
  return { kind, text: text ?? '' };
}

function errorOf(
  instance: Instance,
  input: RuleInput,
  { collection, draft: { kind, text } }: { readonly collection: Collection; readonly draft: Draft },
): AppError | undefined {
  const { collections, database } = instance;
  if (kind === 'rule') {
    // For an API key that is bound to some collections, the others do not exist.
    const reached = collectionsOf(collections.all().filter((one) => reaches(input.caller, one)));
    return ruleError(text, { collection, collections: reached, names: database.names });
  }
  try {
    const query = { get: (name: string) => (name === kind ? text : null) };
    planWithoutReading(instance, input, { collection, query });
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === 'bad_request') return error;
    throw error;
  }
}

/** Returns the position of the error, which filter-error.ts has put into the details. */
export function positionOf({ details }: AppError): number {
  for (const detail of Object.values(details)) {
    const params = 'params' in detail ? detail['params'] : undefined;
    if (params !== undefined && 'position' in params && typeof params['position'] === 'number')
      return params['position'];
  }
  return 0;
}
