import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import type { EmailList, UserPaths } from './provider.ts';
import { ProviderFailure } from './provider-requests.ts';

/** A user as the provider shows them. */
export interface ProviderUser {
  readonly id: string;
  readonly name: string;
  readonly username: string;
  readonly avatarURL: string;
  /** Empty where there is none, or one that the provider says is not verified. */
  readonly email: string;
  /** Whether the provider says that the address is verified. */
  readonly isEmailVerified: boolean;
  /** The answer as it came. */
  readonly raw: JsonObject;
}

const idLengthMax = 255;

/** Reads the user of an answer, with the answer of the token endpoint at `token`. Throws ProviderFailure when it has no id. */
export function readUser(raw: JsonObject, paths: UserPaths, token: JsonObject): ProviderUser {
  const source = { ...raw, token };
  const text = (path: string | undefined): string => (path === undefined ? '' : joinedText(source, path));
  const id = text(paths.id);
  if (id === '' || id.length > idLengthMax) throw new ProviderFailure('its answer has no id of the user');
  const { avatarURL } = paths;
  const { email, isVerified } = readEmail(source, paths);
  return {
    id,
    name: text(paths.name),
    username: text(paths.username),
    avatarURL: typeof avatarURL === 'function' ? avatarURL(raw) : text(avatarURL),
    email,
    isEmailVerified: isVerified,
    raw,
  };
}

function readEmail(
  source: JsonObject,
  { email, emailVerified }: UserPaths,
): { readonly email: string; readonly isVerified: boolean } {
  const address = email === undefined ? '' : joinedText(source, email);
  if (address === '') return { email: '', isVerified: false };
  if (emailVerified === 'always') return { email: address, isVerified: true };
  const flags = (emailVerified ?? '').split(' ').map((path) => valueAt(source, path));
  // The provider does not say: it is an address that somebody claims to have, as in any form.
  if (flags.every((flag) => flag === undefined)) return { email: address, isVerified: false };
  return flags.every(isTrue) ? { email: address, isVerified: true } : { email: '', isVerified: false };
}

/** Some providers send flags as text, or the time of the verification. */
function isTrue(flag: unknown): boolean {
  return (
    flag === true ||
    flag === 1 ||
    (typeof flag === 'string' && flag !== '' && flag !== 'false' && flag !== '0')
  );
}

/** Returns the address in the answer to a second request that meets all conditions; undefined where there is none. */
export function emailIn(answer: unknown, { list, email, conditions }: EmailList): string | undefined {
  const items = list === '' ? answer : valueAt(answer, list);
  if (!Array.isArray(items)) return undefined;
  const item: unknown = items.find((one: unknown) =>
    conditions.split(' ').every((path) => valueAt(one, path) === true),
  );
  const address = item === undefined ? undefined : valueAt(item, email);
  return typeof address === 'string' && address !== '' ? address : undefined;
}

function joinedText(source: JsonObject, paths: string): string {
  const texts = paths.split(' ').map((path) => textOf(valueAt(source, path)));
  return texts.filter((text) => text !== '').join(' ');
}

function textOf(value: unknown): string {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : '';
  return typeof value === 'string' && value.isWellFormed() ? value.replaceAll('\0', '').trim() : '';
}

function valueAt(value: unknown, path: string): unknown {
  let at = value;
  for (const name of path.split('.')) {
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isJsonObject(at)) at = ownMember(at, name);
    else return undefined;
  }
  return at ?? undefined;
}
