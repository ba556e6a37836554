import { AppError, busy, type FieldErrors } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import { createFilled } from '../instances/create-filled.ts';
import type { InstanceChange } from '../instances/instance-directory.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { WrittenActor } from '../logs/audit-entry.ts';
import type { SealPlace } from '../secrets/seal.ts';
import { findAnswer, type IdempotentRequest, runOnce, type StoredAnswer } from '../records/idempotency.ts';
import type { InstanceCalls } from './instance-calls.ts';
import { decodePlace, entryOf, findServed, type ManagedInstance } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';

const createMembers = [
  'slug',
  'host',
  'labels',
  'quotas',
  'template',
  'collections',
  'settings',
  'superuser',
  'endpoints',
] as const;

/** What an instance begins with. */
interface NewInstance extends InstanceChange {
  readonly slug: string;
  /** Slug or id of an instance whose collections it gets. */
  readonly template: string | undefined;
  readonly collections: readonly unknown[];
  readonly settings: JsonObject | undefined;
  readonly superuser: JsonObject | undefined;
  readonly endpoints: readonly JsonObject[];
}

/** An endpoint that was made with the instance; only this answer has its secret. */
interface MadeEndpoint {
  readonly id: unknown;
  readonly url: unknown;
  readonly secret: unknown;
}

/** An instance as the answer to its creation has it. */
export interface CreatedInstance extends ManagedInstance {
  readonly endpoints: readonly MadeEndpoint[];
}

export interface Creation {
  readonly body: JsonObject;
  readonly actor: WrittenActor;
  readonly calls: InstanceCalls;
  /** The request under its idempotency key; undefined without one. */
  readonly idempotent: IdempotentRequest | undefined;
  /** Returns the JSON of the answer. */
  readonly present: (created: CreatedInstance) => string;
}

/** The answer to the creation that came first under the key. */
class Replayed extends Error {
  readonly answer: StoredAnswer;

  constructor(answer: StoredAnswer) {
    super('The request was answered before.');
    this.answer = answer;
  }
}

/** Requests that may wait for others with their slug, or make an instance, at once. */
const creationsMax = 1_000;

/**
 * Makes an instance with all that it begins with. Nobody finds it before it is whole; where anything is refused, nothing of it is left, and the
 * error names the member. Under an idempotency key it is made once: the answer is stored in the transaction that shows it. Throws
 * bad_request, unprocessable, unavailable.
 */
export async function createInstance(
  operator: OperatorControl,
  creation: Creation,
): Promise<{ readonly json: string; readonly isReplayed: boolean }> {
  const draft = decodeNew(creation.body);
  const { creations } = operator;
  if (creations.size >= creationsMax) throw busy();
  const before = creations.get(draft.slug);
  const making = (before ?? Promise.resolve()).then(() => createOnce(operator, creation, draft));
  const ended = making.then(
    () => undefined,
    () => undefined,
  );
  creations.set(draft.slug, ended);
  try {
    return await making;
  } finally {
    if (creations.get(draft.slug) === ended) creations.delete(draft.slug);
  }
}

async function createOnce(
  operator: OperatorControl,
  creation: Creation,
  draft: NewInstance,
): Promise<{ readonly json: string; readonly isReplayed: boolean }> {
  const { database, clock } = operator;
  const { idempotent } = creation;
  const earlier = idempotent && (await findAnswer(database, idempotent, clock.now()));
  if (earlier !== undefined) return { json: openAnswer(operator, earlier, idempotent), isReplayed: true };
  try {
    return { json: await make(operator, creation, draft), isReplayed: false };
  } catch (error) {
    if (error instanceof Replayed)
      return { json: openAnswer(operator, error.answer, idempotent), isReplayed: true };
    throw error;
  }
}

/** Answers have secrets of endpoints, so they are stored sealed. */
function answerPlace(idempotent: IdempotentRequest | undefined): SealPlace {
  return { purpose: 'operator-answer', id: idempotent?.id ?? '' };
}

function openAnswer(
  { sealer }: OperatorControl,
  { json = '' }: StoredAnswer,
  idempotent: IdempotentRequest | undefined,
): string {
  return sealer.open(json, answerPlace(idempotent));
}

async function make(
  operator: OperatorControl,
  { calls, idempotent, actor, present }: Creation,
  draft: NewInstance,
): Promise<string> {
  const { audit, clock } = operator;
  const { slug, host = null, labels = {}, quotas = {} } = draft;
  const id = newId();
  const created = toTimestamp(clock.now());
  let endpoints: readonly MadeEndpoint[] = [];
  let json = '';
  await createFilled(operator, {
    id,
    slug,
    host,
    created,
    labels,
    quotas,
    key: '',
    shownId: id,
    isNew: true,
    populate: async (entry) => {
      endpoints = await fill(operator, calls, { entry, draft });
    },
    discard: (entry) => calls.release(entry),
    alongside: async (tx, shownAt) => {
      const managed = {
        id,
        slug,
        host,
        created,
        labels,
        quotas,
        state: 'active',
        stateSince: shownAt,
      } as const;
      json = present({ ...managed, restorableUntil: '', endpoints });
      if (idempotent !== undefined) {
        const sealed = operator.sealer.seal(json, answerPlace(idempotent));
        const stored = { status: 201, headers: {}, json: sealed, idsJson: () => sealed };
        const once = { request: idempotent, now: clock.now() };
        const { answer, isReplayed } = await runOnce(tx, once, () => Promise.resolve(stored));
        if (isReplayed) throw new Replayed(answer);
      }
      const details = { slug, ...(host !== null && { host }) };
      await audit.append(tx, actor, { action: 'instance.create', target: id, details });
    },
  });
  return json;
}

/** Fills a new instance by the routes that its superusers would use. Returns its endpoints. */
async function fill(
  operator: OperatorControl,
  calls: InstanceCalls,
  { entry, draft }: { readonly entry: InstanceEntry; readonly draft: NewInstance },
): Promise<readonly MadeEndpoint[]> {
  const { template, collections, settings, superuser, endpoints } = draft;
  if (template !== undefined) {
    const copied = await within(['template'], () => readTemplate(operator, calls, template));
    await within(['template'], () => importInto(calls, entry, copied));
  }
  if (collections.length > 0) await within(['collections'], () => importInto(calls, entry, collections));
  if (settings !== undefined)
    await within(['settings'], () => calls.call(entry, { operation: 'updateSettings', body: settings }));
  if (superuser !== undefined) await within(['superuser'], () => addSuperuser(calls, entry, superuser));
  const all: MadeEndpoint[] = [];
  for (const [at, body] of endpoints.entries()) {
    const operation = 'createEndpoint';
    const answer = await within(['endpoints', String(at)], () => calls.call(entry, { operation, body }));
    const { id, url, secret } = isJsonObject(answer) ? answer : {};
    all.push({ id, url, secret });
  }
  return all;
}

function addSuperuser(calls: InstanceCalls, entry: InstanceEntry, account: JsonObject): Promise<unknown> {
  const body = { ...account, passwordConfirm: account['password'] };
  return calls.call(entry, { operation: 'createRecord', params: { collection: '_superusers' }, body });
}

function importInto(
  calls: InstanceCalls,
  entry: InstanceEntry,
  collections: readonly unknown[],
): Promise<unknown> {
  return calls.call(entry, { operation: 'importCollections', body: { collections, deleteMissing: false } });
}

/** Returns the collections of the instance that is the template, as it has them now. */
async function readTemplate(
  operator: OperatorControl,
  calls: InstanceCalls,
  name: string,
): Promise<readonly unknown[]> {
  const entry = await entryOf(operator, await findServed(operator, name));
  const query = { perPage: '1000', skipTotal: 'true', filter: 'system = false' };
  const page = await calls.call(entry, { operation: 'listCollections', query });
  const items = isJsonObject(page) ? page['items'] : undefined;
  return isList(items) ? items : [];
}

const refusedTitle = 'Failed to create instance.';

/** Runs work on a member of the body. What is refused there is refused with the details below the name of the member. */
async function within<Result>(path: readonly string[], work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !refusals.includes(error.code)) throw error;
    const own = Object.keys(error.details).length > 0 ? error.details : invalidValue(error.message);
    const details = path.reduceRight<FieldErrors[string]>((inner, name) => ({ [name]: inner }), own);
    // The path has at least one name.
    throw new AppError('bad_request', refusedTitle, { details: details as FieldErrors, cause: error });
  }
}

const refusals: readonly string[] = ['bad_request', 'broken_rule', 'not_found', 'conflict', 'forbidden'];

/** Throws bad_request with the problem of each member. */
function decodeNew(body: JsonObject): NewInstance {
  const details: Record<string, FieldErrors[string]> = { ...unknownMembers(body, createMembers) };
  const { template, collections = [], settings, superuser, endpoints = [] } = body;
  const place = decodePlace(body, details);
  if (place.slug === undefined) details['slug'] ??= fieldError('validation_required');
  const wrongType = fieldError('validation_unsupported_value_type');
  if (template !== undefined && typeof template !== 'string') details['template'] = wrongType;
  if (!Array.isArray(collections)) details['collections'] = wrongType;
  if (settings !== undefined && !isJsonObject(settings)) details['settings'] = wrongType;
  if (!areObjects(endpoints)) details['endpoints'] = wrongType;
  const problem = superuser === undefined ? undefined : superuserProblem(superuser);
  if (problem !== undefined) details['superuser'] = problem;
  if (Object.keys(details).length > 0) throw new AppError('bad_request', refusedTitle, { details });
  return {
    ...place,
    slug: place.slug ?? '',
    template: typeof template === 'string' ? template : undefined,
    collections: isList(collections) ? collections : [],
    settings: isJsonObject(settings) ? settings : undefined,
    superuser: isJsonObject(superuser) ? superuser : undefined,
    endpoints: areObjects(endpoints) ? endpoints : [],
  };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function areObjects(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every((item) => isJsonObject(item));
}

function superuserProblem(superuser: unknown): FieldErrors[string] | undefined {
  if (!isJsonObject(superuser)) return fieldError('validation_unsupported_value_type');
  const details: Record<string, FieldErrors[string]> = {
    ...unknownMembers(superuser, ['email', 'password']),
  };
  for (const name of ['email', 'password'])
    if (superuser[name] === undefined) details[name] = fieldError('validation_required');
  return Object.keys(details).length > 0 ? details : undefined;
}
