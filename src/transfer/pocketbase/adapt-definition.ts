import { AppError, type FieldErrors } from '../../base/errors.ts';
import { isJsonObject, type JsonObject, ownMember } from '../../base/json.ts';
import {
  type Collection,
  type CollectionSecret,
  ruleNames,
  tokenKinds,
} from '../../collections/collection.ts';
import { requestedSecrets } from '../../collections/decode-auth-options.ts';
import { decodeCollection, type DecodeContext } from '../../collections/decode-collection.ts';
import { ProblemList } from '../../collections/member-reader.ts';
import { type ProblemPlace, problemPlaces } from './omissions.ts';

/** A definition of the source as this service can store it. */
export interface AdaptedDefinition {
  readonly collection: Collection;
  readonly secrets: ReadonlyMap<CollectionSecret, string>;
}

/** Reports a part of a definition that had to be left out: `what` is its place in the definition. */
type LeaveOut = (what: string, why: string) => void;

/** Options that can be removed from a field without changing what its values are. */
const dispensable: ReadonlySet<string> = new Set([
  'pattern',
  'autogeneratePattern',
  'min',
  'max',
  'maxSize',
  'mimeTypes',
  'thumbs',
  'help',
  'cost',
]);

/** Options of a collection that can fall back to their default, as a whole or member by member. */
const optionNames: ReadonlySet<string> = new Set([
  'oauth2',
  'passwordAuth',
  'mfa',
  'otp',
  'authAlert',
  'verificationTemplate',
  'resetPasswordTemplate',
  'confirmEmailChangeTemplate',
  ...tokenKinds,
]);

const rules: ReadonlySet<string> = new Set([...ruleNames, 'authRule', 'manageRule']);

/** Leaving one thing out may reveal the next problem, but never more often than a definition has levels. */
const roundsMax = 20;

/**
 * Reads a definition as the collections API does. Rejected parts that a collection can do without are left out and reported. Throws
 * bad_request for a rejected part that its records need.
 */
export function adaptDefinition(
  raw: JsonObject,
  context: DecodeContext,
  leaveOut: LeaveOut,
): AdaptedDefinition {
  let definition = raw;
  for (let round = 0; ; round += 1) {
    const problems = new ProblemList();
    const collection = decodeCollection(definition, context, problems);
    const secrets = requestedSecrets(definition, problems);
    if (problems.isEmpty) return { collection, secrets };
    const { places, refused } = sort(definition, problems.toErrors());
    const basic = basicOf(places);
    const [first] = basic.length > 0 ? [] : refused;
    if (first !== undefined || round === roundsMax) throw refusal(raw, first ?? places[0]);
    for (const { path, error } of basic.length > 0 ? basic : places) {
      leaveOut(describe(definition, path), error.message);
      definition = without(definition, path);
    }
  }
}

function sort(
  definition: JsonObject,
  errors: FieldErrors,
): { readonly places: readonly ProblemPlace[]; readonly refused: readonly ProblemPlace[] } {
  const places: ProblemPlace[] = [];
  const refused: ProblemPlace[] = [];
  for (const place of problemPlaces(errors)) {
    const path = dispensablePath(definition, place.path);
    if (path === undefined) refused.push(place);
    else places.push({ ...place, path });
  }
  // From last to first: removing an item from a list does not renumber the items before it.
  const byItem = (one: ProblemPlace, other: ProblemPlace): number =>
    Number(other.path.at(-1)) - Number(one.path.at(-1));
  const items = places.filter(({ path }) => isItem(path)).toSorted(byItem);
  // A provider may have several problems, and is removed once.
  const once = items.filter(({ path }, at) => items[at - 1]?.path.join('.') !== path.join('.'));
  return { places: [...places.filter(({ path }) => !isItem(path)), ...once], refused };
}

/** Whether a path is that of an item of a list. */
function isItem([name, list, item]: readonly string[]): boolean {
  return name === 'indexes' || (name === 'oauth2' && list === 'providers' && item !== undefined);
}

/**
 * Returns the problems to fix before the others are looked at. A field with a problem is missing for indexes, and an index with one
 * for the options of sign-in, which would then be rejected although they are valid.
 */
function basicOf(places: readonly ProblemPlace[]): readonly ProblemPlace[] {
  for (const name of ['fields', 'indexes']) {
    const inside = places.filter(({ path }) => path[0] === name);
    if (inside.length > 0) return inside;
  }
  return [];
}

const excerptLength = 100;

/** Names a place so that an operator finds it: items of lists by name instead of number. */
function describe(definition: JsonObject, path: readonly string[]): string {
  const [name = '', index = '', ...rest] = path;
  if (isItem(path) && name === 'oauth2') return `the sign-in provider ${providerName(definition, rest[0])}`;
  const list: unknown = definition[name];
  const item: unknown = Array.isArray(list) ? list[Number(index)] : undefined;
  if (name === 'indexes') return `the index ${JSON.stringify(item).slice(0, excerptLength)}`;
  if (name === 'fields' && isJsonObject(item))
    return `${rest.join('.')} of the field ${String(item['name'])}`;
  return path.join('.');
}

function providerName({ oauth2 }: JsonObject, item = ''): string {
  const providers: unknown = isJsonObject(oauth2) ? oauth2['providers'] : undefined;
  const provider: unknown = Array.isArray(providers) ? providers[Number(item)] : undefined;
  return isJsonObject(provider) ? JSON.stringify(provider['name']) : item;
}

/** Returns the path of the part to remove so that the problem at `path` goes away; undefined when no part can be removed. */
function dispensablePath(definition: JsonObject, path: readonly string[]): readonly string[] | undefined {
  const [name = '', index = '', option = ''] = path;
  if (rules.has(name)) return ownMember(definition, name) === null ? undefined : [name];
  if (name === 'indexes' && path.length === 2) return path;
  if (name === 'fields') {
    const isThere = dispensable.has(option) && hasMember(definition, [name, index, option]);
    return isThere ? [name, index, option] : undefined;
  }
  if (!optionNames.has(name)) return undefined;
  if (isItem(path)) return path.slice(0, 3);
  if (hasMember(definition, path)) return path;
  return hasMember(definition, [name]) ? [name] : undefined;
}

function hasMember(value: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  if (Array.isArray(value)) return hasMember(value[Number(name)], rest);
  return isJsonObject(value) && Object.hasOwn(value, name) && hasMember(value[name], rest);
}

/** Returns the definition without this part. A rule becomes null, which lets only superusers in. */
function without(definition: JsonObject, path: readonly string[]): JsonObject {
  const [name = ''] = path;
  if (rules.has(name)) return { ...definition, [name]: null };
  // The cast holds: removing a member of an object leaves an object.
  return removed(definition, path) as JsonObject;
}

function removed(value: unknown, [name = '', ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return rest.length === 0
      ? items.filter((_, index) => String(index) !== name)
      : items.map((item, index) => (String(index) === name ? removed(item, rest) : item));
  }
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).filter(([key]) => rest.length > 0 || key !== name);
  return Object.fromEntries(members.map(([key, item]) => [key, key === name ? removed(item, rest) : item]));
}

function refusal({ name }: JsonObject, place: ProblemPlace | undefined): AppError {
  const where = place === undefined ? '' : ` (${place.path.join('.')}: ${place.error.message})`;
  return new AppError(
    'bad_request',
    `The collection ${JSON.stringify(name)} of the source cannot be kept here${where}.`,
  );
}
