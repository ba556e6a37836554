import { isDeepStrictEqual } from 'node:util';
import { AppError, type FieldError, type FieldErrors } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import { fieldError, invalidValue, unknownMembers } from '../../fields/field-error.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import type { Reader, Transaction } from '../../storage/database.ts';
import { cancelFailed, deletedCause, releaseAll } from '../delivery-outcomes.ts';
import {
  changeSettings,
  contextOf,
  type EndpointSaving,
  insertEndpoint,
  removeEndpoint,
  requireOwner,
} from './change-endpoint.ts';
import { type EndpointSettings, namedOptions } from '../../endpoints/endpoint-options.ts';
import { refuseTooMany } from '../../endpoints/refuse-too-many.ts';
import {
  decodeSecret,
  decodeStatus,
  type Endpoint,
  type EndpointContext,
  endpointsMax,
  readSettings,
  refuseFixed,
} from '../../endpoints/endpoint.ts';

type Body = Readonly<Record<string, unknown>>;

/** The changes that an import made, or would make. */
export interface EndpointImport {
  /** Without ids in a dry run. */
  readonly created: readonly (Pick<Endpoint, 'name' | 'secret'> & { readonly id?: string })[];
  /** With the names of the members that differ. */
  readonly updated: readonly (NamedEndpoint & { readonly changed: readonly string[] })[];
  readonly unchanged: readonly NamedEndpoint[];
  readonly deleted: readonly NamedEndpoint[];
}

interface NamedEndpoint {
  readonly id: string;
  readonly name: string;
}

const failed = 'Failed to import endpoints.';

/**
 * Makes the endpoints with names match their definitions, all of them or none. A definition is complete: a missing member gets
 * its default, except the secret and the status of an existing endpoint, which stay. Endpoints without a name are not changed. Throws bad_request
 * with the problems of each definition, by its index.
 */
export async function importEndpoints(
  saving: EndpointSaving,
  body: Body,
  policy: NetworkPolicy,
): Promise<EndpointImport> {
  const { definitions, deleteMissing, dryRun } = decodeImport(body);
  const { database, endpoints } = saving;
  const plan = (all: readonly Endpoint[]): ImportPlan =>
    planImport(definitions, { all, deleteMissing, saving, context: contextOf(saving, policy, []) });
  if (dryRun) {
    const planned = plan(await endpoints.stored(database));
    await requireOwners(database, saving, planned);
    return answerOf(planned, []);
  }
  const { planned, created } = await database.write(
    async (tx) => {
      const importPlan = plan(await endpoints.all(tx));
      await requireOwners(tx, saving, importPlan);
      return { planned: importPlan, created: await applyPlan(tx, saving, importPlan) };
    },
    { isExclusive: true },
  );
  for (const { number } of planned.deleted)
    await cancelFailed(saving, { endpoint: number, cause: deletedCause });
  for (const { before, settings } of planned.updated)
    if (before.order === 'record' && settings.order !== 'record') await releaseAll(saving, before.number);
  return answerOf(planned, created);
}

interface Definition {
  readonly name: string;
  readonly raw: Body;
}

interface ImportRequest {
  readonly definitions: readonly Definition[];
  readonly deleteMissing: boolean;
  readonly dryRun: boolean;
}

function decodeImport(body: Body): ImportRequest {
  const { endpoints, deleteMissing = false, dryRun = false } = body;
  const problems: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, ['endpoints', 'deleteMissing', 'dryRun'], []),
  };
  const notFlag = invalidValue('Must be true or false.');
  if (typeof deleteMissing !== 'boolean') problems['deleteMissing'] = notFlag;
  if (typeof dryRun !== 'boolean') problems['dryRun'] = notFlag;
  const isList = Array.isArray(endpoints) && endpoints.length <= endpointsMax;
  if (!isList) problems['endpoints'] = invalidValue(`Must be an array of at most ${endpointsMax} endpoints.`);
  const { definitions, problems: ofNames } = decodeNames(isList ? endpoints : []);
  if (Object.keys(ofNames).length > 0) problems['endpoints'] = ofNames;
  if (Object.keys(problems).length > 0) throw new AppError('bad_request', failed, { details: problems });
  return { definitions, deleteMissing: deleteMissing === true, dryRun: dryRun === true };
}

/** Reads the names by which definitions are matched. They are validated with the other members. */
function decodeNames(items: readonly unknown[]): {
  readonly definitions: readonly Definition[];
  readonly problems: FieldErrors;
} {
  const problems: Record<string, FieldErrors | FieldError> = {};
  const definitions: Definition[] = [];
  const firstOf = new Map<string, number>();
  for (const [index, raw] of items.entries()) {
    if (!isJsonObject(raw)) {
      problems[index] = invalidValue('Must be an object.');
      continue;
    }
    const name = raw['name'] ?? '';
    const first = typeof name === 'string' ? firstOf.get(name) : undefined;
    if (name === '') problems[index] = { name: fieldError('validation_required') };
    else if (typeof name !== 'string') problems[index] = { name: invalidValue('Must be text.') };
    else if (first === undefined) {
      definitions.push({ name, raw });
      firstOf.set(name, index);
    } else problems[index] = { name: invalidValue(`The endpoint at ${first} has the same name.`) };
  }
  return { definitions, problems };
}

interface ImportPlan {
  readonly created: readonly PlannedCreate[];
  readonly updated: readonly PlannedChange[];
  readonly unchanged: readonly Endpoint[];
  readonly deleted: readonly Endpoint[];
}

interface PlannedCreate {
  /** The index of its definition. */
  readonly index: number;
  readonly settings: EndpointSettings;
  readonly status: 'active' | 'paused';
  /** Undefined where the service generates one. */
  readonly secret: string | undefined;
}

interface PlannedChange {
  readonly index: number;
  readonly before: Endpoint;
  readonly settings: EndpointSettings;
  readonly changed: readonly string[];
}

interface PlanContext {
  readonly all: readonly Endpoint[];
  readonly deleteMissing: boolean;
  readonly saving: EndpointSaving;
  readonly context: EndpointContext;
}

/** Throws bad_request with the problems of all definitions. */
function planImport(
  definitions: readonly Definition[],
  { all, deleteMissing, saving, context }: PlanContext,
): ImportPlan {
  const byName = new Map(all.map((endpoint) => [endpoint.name, endpoint]));
  const problems: Record<string, FieldErrors> = {};
  const created: PlannedCreate[] = [];
  const updated: PlannedChange[] = [];
  const unchanged: Endpoint[] = [];
  for (const [index, { name, raw }] of definitions.entries()) {
    const before = byName.get(name);
    const { settings, problems: ofSettings } = readSettings(raw, {
      ...context,
      ...(before && { existing: before }),
      isWhole: true,
    });
    const fixed = readFixed(raw, before);
    const all = { ...fixed.problems, ...ofSettings };
    if (Object.keys(all).length > 0) problems[index] = all;
    if (before === undefined) {
      created.push({ index, settings, status: fixed.status, secret: fixed.secret });
      continue;
    }
    const changed = changedOptions(before, settings);
    if (changed.length === 0) unchanged.push(before);
    else updated.push({ index, before, settings, changed });
  }
  if (Object.keys(problems).length > 0)
    throw new AppError('bad_request', failed, { details: { endpoints: problems } });
  const names = new Set(definitions.map(({ name }) => name));
  const isMissing = ({ name }: Endpoint): boolean => name !== '' && !names.has(name);
  const deleted = deleteMissing ? all.filter(isMissing) : [];
  const changed = new Map(updated.map(({ before, settings }) => [before.id, settings]));
  const left = all.filter((one) => !deleted.includes(one)).map((one) => changed.get(one.id) ?? one);
  const after = [...left, ...created.map(({ settings }) => settings)];
  refuseTooMany(saving, { before: all, after }, failed);
  return { created, updated, unchanged, deleted };
}

interface Fixed {
  readonly status: 'active' | 'paused';
  readonly secret: string | undefined;
  readonly problems: FieldErrors;
}

/** Reads the members that are set at creation alone: later the status stays as it is, and another secret is rejected. */
function readFixed(raw: Body, before: Endpoint | undefined): Fixed {
  const fixed: { -readonly [Name in keyof Fixed]: Fixed[Name] } = {
    status: 'active',
    secret: undefined,
    problems: {},
  };
  const secret = raw['secret'] ?? undefined;
  const read = (decode: () => void): void => {
    try {
      decode();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
      fixed.problems = { ...fixed.problems, ...error.details };
    }
  };
  if (before !== undefined) {
    read(() => refuseFixed(secret === undefined ? {} : { secret }, before, failed));
    return fixed;
  }
  read(() => (fixed.status = decodeStatus(raw, failed)));
  read(() => (fixed.secret = decodeSecret({ secret }, failed)));
  return fixed;
}

function changedOptions(before: Endpoint, settings: EndpointSettings): readonly string[] {
  const [was, is]: readonly Body[] = [{ ...before }, { ...settings }];
  return namedOptions.flatMap(([name]) => (isDeepStrictEqual(was?.[name], is?.[name]) ? [] : [name]));
}

/** Throws bad_request where the owner of an endpoint is no account. */
async function requireOwners(
  reader: Reader,
  saving: EndpointSaving,
  { created, updated }: ImportPlan,
): Promise<void> {
  const isOther = ({ changed }: PlannedChange): boolean => changed.includes('owner');
  const problems: Record<string, FieldErrors> = {};
  for (const { index, settings } of [...created, ...updated.filter(isOther)]) {
    try {
      await requireOwner(reader, saving, settings.owner);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
      problems[index] = error.details;
    }
  }
  if (Object.keys(problems).length > 0)
    throw new AppError('bad_request', failed, { details: { endpoints: problems } });
}

/** Returns the new endpoints. */
async function applyPlan(
  tx: Transaction,
  saving: EndpointSaving,
  plan: ImportPlan,
): Promise<readonly Endpoint[]> {
  for (const endpoint of plan.deleted) await removeEndpoint(tx, saving, endpoint);
  for (const { before, settings } of plan.updated) await changeSettings(tx, saving, { before, settings });
  const created: Endpoint[] = [];
  for (const planned of plan.created) created.push(await insertEndpoint(tx, saving, planned));
  return created;
}

function answerOf(
  { created, updated, unchanged, deleted }: ImportPlan,
  endpoints: readonly Endpoint[],
): EndpointImport {
  return {
    created: created.map(({ settings: { name } }, at) => ({
      ...(endpoints[at] && { id: endpoints[at].id }),
      name,
      secret: endpoints[at]?.secret ?? '',
    })),
    updated: updated.map(({ before: { id, name }, changed }) => ({ id, name, changed })),
    unchanged: unchanged.map(({ id, name }) => ({ id, name })),
    deleted: deleted.map(({ id, name }) => ({ id, name })),
  };
}
