import { isJsonObject, type JsonObject } from '../base/json.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import type { Field } from '../fields/field.ts';
import { urlField } from '../fields/url-field.ts';
import { findProvider } from '../providers/configure-provider.ts';
import type { Provider, ProviderExtra, ProviderOptions } from '../providers/provider.ts';
import { type AuthOptions, type CollectionSecret, mappedFields, providerSecret } from './collection.ts';
import { memberReader, type MemberReader, ProblemList } from './member-reader.ts';

const lengthMax = { clientId: 1_024, clientSecret: 4_096, displayName: 255 };
const urlLengthMax = 2_048;
const providersMax = 50;
const issuersMax = 20;

type Oauth2Options = AuthOptions['oauth2'];

/** Decodes the sign-in providers of a definition. A provider that it had by that name keeps what is left out, its secret too. */
export function decodeOauth2(
  read: MemberReader,
  was: Oauth2Options,
  fields: readonly Field[],
): Oauth2Options {
  return read.members('oauth2', (oauth2) => {
    const enabled = oauth2.flag('enabled', was.enabled);
    const providers = oauth2.has('providers') ? decodeProviders(oauth2, was.providers) : was.providers;
    const mapped = oauth2.members('mappedFields', (names) =>
      mappedFields.map((name) => {
        const field = names.text(name, was.mappedFields[name]);
        // As in the reference: the field may have been deleted since.
        return [name, fields.some((one) => one.name === field) ? field : ''] as const;
      }),
    );
    return {
      providers,
      // One entry for each of the names.
      mappedFields: Object.fromEntries(mapped) as Oauth2Options['mappedFields'],
      enabled,
    };
  });
}

/** Returns the secrets in the providers of a definition. {@link decodeOauth2} reports what is wrong with them. */
export function requestedProviderSecrets(raw: JsonObject): readonly (readonly [CollectionSecret, string])[] {
  const oauth2 = raw['oauth2'];
  const providers = isJsonObject(oauth2) ? oauth2['providers'] : undefined;
  if (!Array.isArray(providers)) return [];
  return providers.flatMap((provider: unknown) => {
    if (!isJsonObject(provider)) return [];
    const { name, clientSecret } = provider;
    if (typeof name !== 'string' || typeof clientSecret !== 'string' || clientSecret === '') return [];
    return [[providerSecret(name), clientSecret] as const];
  });
}

function decodeProviders(oauth2: MemberReader, was: readonly ProviderOptions[]): readonly ProviderOptions[] {
  const list = oauth2.list('providers');
  if (list.length > providersMax)
    oauth2.refuse('providers', fieldError('validation_length_too_long', { min: 0, max: providersMax }));
  const problems = new ProblemList();
  const providers: ProviderOptions[] = [];
  for (const [index, raw] of list.slice(0, providersMax).entries()) {
    const own = new ProblemList();
    const provider = decodeProvider(raw, was, own);
    if (providers.some(({ name }) => name === provider.name && name !== ''))
      own.add('name', fieldError('validation_duplicated_provider', { name: provider.name }));
    providers.push(provider);
    problems.addAll(String(index), own);
  }
  if (!problems.isEmpty) oauth2.refuse('providers', problems.toErrors());
  return providers;
}

function decodeProvider(
  raw: unknown,
  all: readonly ProviderOptions[],
  problems: ProblemList,
): ProviderOptions {
  if (!isJsonObject(raw)) problems.add('name', invalidValue('Must be an object.'));
  const object = isJsonObject(raw) ? raw : {};
  const read = memberReader(object, problems);
  const name = read.text('name', '');
  const provider = findProvider(name);
  if (name === '') read.refuse('name', fieldError('validation_required'));
  else if (provider === undefined) read.refuse('name', fieldError('validation_missing_provider', { name }));
  const was = all.find((one) => one.name === name);
  const decoded: ProviderOptions = {
    pkce: object['pkce'] === null ? null : read.has('pkce') ? read.flag('pkce', false) : (was?.pkce ?? null),
    name,
    clientId: limitedText(read, 'clientId', was?.clientId ?? ''),
    authURL: decodeUrl(read, 'authURL', was?.authURL ?? ''),
    tokenURL: decodeUrl(read, 'tokenURL', was?.tokenURL ?? ''),
    userInfoURL: decodeUrl(read, 'userInfoURL', was?.userInfoURL ?? ''),
    displayName: limitedText(read, 'displayName', was?.displayName ?? ''),
    extra: decodeExtra(read, { was: was?.extra ?? {}, isOpenId: provider?.isOpenId === true }),
  };
  if (decoded.clientId === '') read.refuse('clientId', fieldError('validation_required'));
  // The secret is sent to the token endpoint: where that changes, only who knows the secret may have it sent there.
  const isKept =
    was !== undefined && was.tokenURL === decoded.tokenURL && was.extra.issuer === decoded.extra.issuer;
  const secret = limitedText(read, 'clientSecret', '');
  if (secret === '' && !isKept) read.refuse('clientSecret', fieldError('validation_required'));
  if (provider !== undefined) requireEndpoints(read, provider, decoded);
  return decoded;
}

function limitedText(
  read: MemberReader,
  name: 'clientId' | 'clientSecret' | 'displayName',
  was: string,
): string {
  const text = read.text(name, was);
  const max = lengthMax[name];
  if (text.length > max) read.refuse(name, fieldError('validation_length_too_long', { min: 0, max }));
  return text;
}

const anyDomain = { exceptDomains: [], onlyDomains: [], required: false };

/** Reads a URL of http or https, without a fragment (RFC 6749 section 3.1). */
function decodeUrl(read: MemberReader, name: string, was: string): string {
  const url = read.text(name, was);
  if (urlField.check(url, anyDomain) !== undefined || url.includes('#'))
    read.refuse(name, fieldError('validation_is_url'));
  return url;
}

function decodeExtra(
  read: MemberReader,
  { was, isOpenId }: { readonly was: ProviderExtra; readonly isOpenId: boolean },
): ProviderExtra {
  if (!read.has('extra')) return was;
  return read.members('extra', (extra) => {
    for (const name of extra.names())
      if (!isOpenId || !['issuer', 'jwksURL', 'issuers'].includes(name))
        extra.refuse(name, invalidValue('There is no such option of this provider.'));
    const issuer = decodeUrl(extra, 'issuer', '');
    const jwksURL = decodeUrl(extra, 'jwksURL', '');
    const issuers = extra.texts('issuers', []);
    if (issuers.length > issuersMax || issuers.some(({ length }) => length === 0 || length > urlLengthMax))
      extra.refuse('issuers', invalidValue(`Must be at most ${issuersMax} texts, none of them empty.`));
    if (issuer !== '' && jwksURL !== '') extra.refuse('jwksURL', fieldError('validation_empty'));
    if (issuer !== '' && issuers.length > 0) extra.refuse('issuers', fieldError('validation_empty'));
    if (issuer === '' && jwksURL !== '' && issuers.length === 0)
      extra.refuse('issuers', fieldError('validation_required'));
    if (issuer === '' && jwksURL === '' && issuers.length > 0)
      extra.refuse('jwksURL', fieldError('validation_required'));
    return {
      ...(issuer !== '' && { issuer }),
      ...(jwksURL !== '' && { jwksURL }),
      ...(issuers.length > 0 && { issuers }),
    };
  });
}

/** Reports the URLs that neither the provider nor its options have. */
function requireEndpoints(
  read: MemberReader,
  { isOpenId, idTokens, ...builtIn }: Provider,
  { extra, ...options }: ProviderOptions,
): void {
  if (extra.issuer !== undefined) return;
  const hasIdTokens = isOpenId === true ? extra.jwksURL !== undefined : idTokens !== undefined;
  const names = hasIdTokens ? urlNames.filter((name) => name !== 'userInfoURL') : urlNames;
  for (const name of names)
    if (options[name] === '' && builtIn[name] === undefined)
      read.refuse(name, fieldError('validation_required'));
}

const urlNames = ['authURL', 'tokenURL', 'userInfoURL'] as const;
