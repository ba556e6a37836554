import { createHmac, timingSafeEqual } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { GenerationCache } from '../base/cache.ts';
import { AppError } from '../base/errors.ts';
import { randomText } from '../base/ids.ts';
import { decodeUtf8, isJsonObject, type JsonObject, ownMember, parseJson } from '../base/json.ts';

/**
 * Record tokens: JSON Web Tokens signed with HS256 and nothing else. The key is the record's `tokenKey` and then the collection's
 * secret for the kind of token. A token of another instance, collection or purpose, or from before a change of password, therefore
 * fails by its signature and not by an `if`.
 */
export type TokenClaims = JsonObject;

const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url');
const tokenLengthMax = 8192;
/** As long as the hash (RFC 7518 section 3.2). It also refuses a key that was joined from two missing parts. */
const keyLengthMin = 32;
const SIGNATURE_BYTES = 32;
const SECRET_LENGTH = 50;
const SECRET_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function signToken(claims: TokenClaims, key: string): string {
  const signed = `${HEADER}.${Buffer.from(JSON.stringify(claims), 'utf8').toString('base64url')}`;
  const token = `${signed}.${signatureOf(signed, key).toString('base64url')}`;
  assert(token.length <= tokenLengthMax, 'a token must be short enough to be read again');
  return token;
}

/**
 * A cache of tokens whose signature was valid, each with its key, as clients send the same token with every request. An entry never
 * becomes wrong: the key is looked up for each request, a token whose key has changed is verified anew, and expiry is checked each
 * time. Only valid tokens are added. About half a kilobyte each, for all instances of a process.
 */
const verifiedTokens = new GenerationCache<string, { readonly claims: TokenClaims; readonly key: string }>(
  2_500,
);

/** Returns the claims of a token, **unverified**: good only for finding the record whose key verifies it. */
export function decodeToken(text: string): TokenClaims | undefined {
  return verifiedTokens.find(text)?.claims ?? splitToken(text)?.claims;
}

/** Returns the claims of a token that was signed with this key and has not expired (`exp`, Unix seconds), or undefined. */
export function verifyToken(text: string, key: string, nowSeconds: number): TokenClaims | undefined {
  const cached = verifiedTokens.find(text);
  const claims = cached?.key === key ? cached.claims : verifySignature(text, key);
  return claims !== undefined && isInForce(claims, nowSeconds) ? claims : undefined;
}

/** Makes a new `tokenKey` for a record: 50 characters of `[A-Za-z0-9]`, 297 random bits. */
export function newTokenKey(): string {
  return randomText(SECRET_LENGTH, SECRET_ALPHABET);
}

/** Makes a new secret of a collection for one kind of token. */
export function newTokenSecret(): string {
  return randomText(SECRET_LENGTH, SECRET_ALPHABET);
}

function verifySignature(text: string, key: string): TokenClaims | undefined {
  const parts = splitToken(text);
  if (parts === undefined) return undefined;
  if (!timingSafeEqual(signatureOf(parts.signed, key), parts.signature)) return undefined;
  verifiedTokens.add(text, { claims: parts.claims, key });
  return parts.claims;
}

function signatureOf(signed: string, key: string): Buffer {
  assert(key.length >= keyLengthMin, 'the key of a token is a tokenKey and a secret');
  return createHmac('sha256', key).update(signed).digest();
}

interface TokenParts {
  readonly signed: string;
  readonly claims: TokenClaims;
  readonly signature: Buffer;
}

function splitToken(text: string): TokenParts | undefined {
  if (text.length > tokenLengthMax) return undefined;
  const [header, payload, signatureText, ...rest] = text.split('.');
  if (header === undefined || payload === undefined || signatureText === undefined || rest.length > 0)
    return undefined;
  const signature = decodeBase64url(signatureText);
  if (signature?.length !== SIGNATURE_BYTES || !isHeader(header)) return undefined;
  const claims = decodeObject(payload);
  return claims === undefined ? undefined : { signed: `${header}.${payload}`, claims, signature };
}

/** `alg` is compared, never chosen from. `kid`, `jku`, `jwk` and `x5u`, which point to a key, are ignored: the key is in the database. */
function isHeader(text: string): boolean {
  if (text === HEADER) return true;
  const header = decodeObject(text);
  // RFC 7515 section 4.1.11: every extension that `crit` names must be understood, and none is.
  return header !== undefined && ownMember(header, 'alg') === 'HS256' && !Object.hasOwn(header, 'crit');
}

function decodeObject(text: string): JsonObject | undefined {
  const bytes = decodeBase64url(text);
  if (bytes === undefined) return undefined;
  try {
    const value = parseJson(decodeUtf8(bytes));
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function isInForce(claims: TokenClaims, nowSeconds: number): boolean {
  const expiry = ownMember(claims, 'exp');
  // Only safe integers: 1e30 would make the token valid for ever.
  if (typeof expiry !== 'number' || !Number.isSafeInteger(expiry) || expiry <= nowSeconds) return false;
  return isDateOrAbsent(claims, 'nbf') && isDateOrAbsent(claims, 'iat');
}

/** These claims are never issued and have no meaning here, but if present they must have the type of the standard. */
function isDateOrAbsent(claims: TokenClaims, name: 'nbf' | 'iat'): boolean {
  return !Object.hasOwn(claims, name) || typeof claims[name] === 'number';
}

/**
 * Returns the bytes of a base64url text, or undefined unless it is their canonical encoding. Node's decoder skips junk, accepts
 * padding and ignores spare bits (`YR` and `YQ` are both `a`), so a token could be rewritten and still pass.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
