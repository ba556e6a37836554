import { AppError } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { CollectionNames } from '../collections/collection-names.ts';
import { decodeCollection } from '../collections/decode-collection.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { ruleError, withCollection } from '../definitions/check-rules.ts';
import { withViews } from '../definitions/view-descriptions.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { type FilterCheck, positionOf } from './check-filter.ts';
import { decodeRuleTest, type RuleVerdict, testRuleOf } from './test-rule.ts';

/** A check of a rule, and the result of its test: null where there was none. */
export interface RuleDryRun extends FilterCheck {
  readonly allowed: boolean | null;
  readonly terms: RuleVerdict['terms'];
}

const failed = 'The rule could not be tested.';

/**
 * Checks a rule in a collection that need not be saved, and tests it on the values of a new record if there are any. For superusers.
 * Throws bad_request.
 */
export async function dryRunRule(instance: Instance, body: JsonObject): Promise<RuleDryRun> {
  const { definition: raw, ...test } = body;
  if (!isJsonObject(raw)) {
    const problem =
      raw === undefined ? fieldError('validation_required') : invalidValue('Must be an object.');
    throw new AppError('bad_request', failed, { details: { definition: problem } });
  }
  const collection = await decodeDefinition(instance, raw);
  const request = decodeRuleTest(collection, test);
  if (typeof request.record === 'string')
    throw new AppError('bad_request', failed, {
      details: { record: invalidValue('Must be the members of a new record.') },
    });
  const { names } = instance.database;
  const collections = withCollection(instance.collections, collection);
  const error = ruleError(request.rule, { collection, collections, names });
  const untested = { allowed: null, terms: [] };
  if (error !== undefined)
    return { isValid: false, message: error.message, position: positionOf(error), ...untested };
  const valid = { isValid: true, message: '', position: null };
  if (!Object.hasOwn(body, 'record')) return { ...valid, ...untested };
  // Its own records are not there yet: a rule that reads them has no result.
  const stored = ruleError(request.rule, { collection, collections: instance.collections, names });
  if (stored !== undefined) {
    const message = 'The rule reads records of the collection itself. Save the collection to test it.';
    return { ...valid, message, ...untested };
  }
  return { ...valid, ...(await testRuleOf(instance, collection, request)) };
}

/** Returns the collection that a definition describes: a new one, or a stored one as it would be. */
async function decodeDefinition(
  { database, collections, clock }: Instance,
  raw: JsonObject,
): Promise<Collection> {
  const all = collections.all();
  const existing = typeof raw['id'] === 'string' ? collections.find(raw['id']) : undefined;
  const problems = new ProblemList();
  const collection = await withViews(database, (reader) => {
    const now = toTimestamp(clock.now());
    const views = { ...reader, collections: all };
    const context = { names: namesBeside(raw['name'], all), now, views, ...(existing && { existing }) };
    return Promise.resolve(decodeCollection(raw, context, problems));
  });
  problems.throwIfAny(failed);
  return collection;
}

/** A name that is taken is no problem of a rule: it stands for the collection of the definition. */
function namesBeside(name: unknown, all: readonly Collection[]): CollectionNames {
  const key = typeof name === 'string' ? name.toLowerCase() : undefined;
  return new CollectionNames(
    all.map((one) => (one.name.toLowerCase() === key ? { ...one, name: one.id, indexes: [] } : one)),
  );
}
