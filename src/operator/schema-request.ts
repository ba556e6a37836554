import { AppError, type FieldErrors } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { requestedSecrets } from '../collections/decode-auth-options.ts';
import { checkDefinition } from '../collections/decode-collection.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { decodeImport, type Definition } from '../definitions/import-plan.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { WrittenActor } from '../logs/audit-entry.ts';
import { findAnswer, type IdempotentRequest, runOnce } from '../records/idempotency.ts';
import { findAllServed, selectServed } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';
import {
  insertSchemaJob,
  type NewSchemaJob,
  type SchemaJob,
  schemaJobLimits,
  type SchemaTarget,
} from './schema-jobs.ts';

const members = ['instances', 'collections', 'deleteMissing', 'dryRun', 'stopAfter'] as const;

export interface SchemaRequest {
  readonly body: JsonObject;
  readonly actor: WrittenActor;
  /** The request under its idempotency key; undefined without one. */
  readonly idempotent: IdempotentRequest | undefined;
  /** Returns the JSON of the answer. */
  readonly present: (job: SchemaJob) => string;
}

/**
 * Adds a job that brings instances to a definition, once under an idempotency key, and audits that. Throws bad_request for what is wrong
 * whatever the instances have, too_many_requests, unprocessable.
 */
export async function requestSchema(
  operator: OperatorControl,
  { body, actor, idempotent, present }: SchemaRequest,
): Promise<{ readonly json: string; readonly isReplayed: boolean }> {
  const { database, clock, audit } = operator;
  const earlier = idempotent && (await findAnswer(database, idempotent, clock.now()));
  if (earlier !== undefined) return { json: earlier.json ?? '', isReplayed: true };
  const job = await decodeJob(operator, body, actor.address);
  return database.write(async (tx) => {
    const now = clock.now();
    const insert = async (): Promise<string> => {
      const added = await insertSchemaJob(tx, job, now);
      const { id: target, dryRun, deleteMissing, total } = added;
      const details = { dryRun, deleteMissing, instances: total };
      await audit.append(tx, actor, { action: 'schema.apply', target, details });
      return present(added);
    };
    if (idempotent === undefined) return { json: await insert(), isReplayed: false };
    const { answer, isReplayed } = await runOnce(tx, { request: idempotent, now }, async () => {
      const json = await insert();
      return { status: 202, headers: {}, json, idsJson: () => json };
    });
    return { json: answer.json ?? '', isReplayed };
  });
}

/** Throws bad_request with the problem of each member. */
async function decodeJob(
  operator: OperatorControl,
  body: JsonObject,
  address: string,
): Promise<NewSchemaJob> {
  const details: Record<string, FieldErrors[string]> = { ...unknownMembers(body, members) };
  const { deleteMissing = false, dryRun = false, stopAfter = null } = body;
  const collections = within(details, () => decodeDefinitions(body));
  if (typeof dryRun !== 'boolean') details['dryRun'] = invalidValue('Must be true or false.');
  if (stopAfter !== null && !(Number.isSafeInteger(stopAfter) && Number(stopAfter) >= 1))
    details['stopAfter'] = invalidValue('Must be a whole number from 1, or null.');
  if (Object.keys(details).length > 0) throw refused(details);
  return {
    instances: await decodeInstances(operator, body['instances']),
    collections: collections ?? '',
    deleteMissing: deleteMissing === true,
    dryRun: dryRun === true,
    stopAfter: Number(stopAfter ?? 0),
    address,
  };
}

function refused(details: FieldErrors): AppError {
  return new AppError('bad_request', 'Failed to create schema job.', { details });
}

/** Adds what decoding refuses to the problems. */
function within<Result>(
  details: Record<string, FieldErrors[string]>,
  decode: () => Result,
): Result | undefined {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    Object.assign(details, error.details);
    return undefined;
  }
}

/** Returns the JSON of the definitions. Throws bad_request. */
function decodeDefinitions(body: JsonObject): string {
  const { collections } = decodeImport(body);
  const problems = new ProblemList();
  const all = new ProblemList();
  for (const [at, raw] of collections.entries()) all.addAll(String(at), problemsOf(raw));
  problems.addAll('collections', all);
  const json = JSON.stringify(collections);
  const { collectionsBytesMax: max } = schemaJobLimits;
  if (Buffer.byteLength(json) > max)
    problems.add('collections', fieldError('validation_json_size_limit', { maxSize: max }));
  problems.throwIfAny('Failed to create schema job.');
  return json;
}

function problemsOf(raw: Definition): ProblemList {
  const problems = new ProblemList();
  checkDefinition(raw, problems);
  // With the secret of another instance, whoever has that could sign tokens for this one.
  for (const name of requestedSecrets(raw, problems).keys()) {
    const [member = name] = name.split(' ');
    problems.addAll(member, sharedSecret());
  }
  return problems;
}

function sharedSecret(): ProblemList {
  const problems = new ProblemList();
  problems.add('secret', invalidValue('Each instance has a secret of its own: leave it out.'));
  return problems;
}

/** Throws bad_request. */
async function decodeInstances(operator: OperatorControl, value: unknown): Promise<readonly SchemaTarget[]> {
  if (value === undefined) throw refused({ instances: fieldError('validation_required') });
  const selected = await (typeof value === 'string'
    ? selectByFilter(operator, value)
    : selectByName(operator, value));
  if (selected.length > schemaJobLimits.instancesMax) throw tooManyInstances();
  if (selected.length === 0) throw refused({ instances: invalidValue('No instance is selected.') });
  return selected;
}

async function selectByFilter(operator: OperatorControl, filter: string): Promise<readonly SchemaTarget[]> {
  try {
    return await selectServed(operator, filter, schemaJobLimits.instancesMax + 1);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    throw refused({ instances: error.details['filter'] ?? invalidValue(error.message) });
  }
}

/** Problems that are reported of a list of names. */
const problemsMax = 20;

async function selectByName(operator: OperatorControl, value: unknown): Promise<readonly SchemaTarget[]> {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!Array.isArray(value) || !names.every((name) => typeof name === 'string'))
    throw refused({ instances: invalidValue('Must be a filter, or a list of slugs or ids.') });
  if (names.length > schemaJobLimits.instancesMax) throw tooManyInstances();
  const targets = await findAllServed(operator, names);
  const unknown = names.flatMap((name, at): (readonly [string, FieldErrors[string]])[] =>
    targets[at] === undefined ? [[String(at), invalidValue(`There is no instance ${name}.`)]] : [],
  );
  if (unknown.length > 0) throw refused({ instances: Object.fromEntries(unknown.slice(0, problemsMax)) });
  const byId = new Map(targets.flatMap((one) => (one === undefined ? [] : [[one.id, one] as const])));
  return [...byId.values()];
}

function tooManyInstances(): AppError {
  const { instancesMax } = schemaJobLimits;
  return refused({ instances: invalidValue(`A job has at most ${instancesMax} instances.`) });
}
