import { randomText } from '../base/ids.ts';
import { isJsonObject, ownMember } from '../base/json.ts';
import type { AttemptResult } from './attempt-result.ts';
import type { Consent } from './signature.ts';

/** What the `event` of a challenge is. It stands in no log: nothing has happened. */
export const challengeKind = 'endpoint.verify';

const challengeLength = 43;
const challengeAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Returns a challenge that only its receiver can know: 258 random bits. */
export function newChallenge(): string {
  return randomText(challengeLength, challengeAlphabet);
}

/** More than a challenge in any form of it. */
const answerBytesMax = 1_024;

/**
 * Whether an answer confirms a challenge: 2xx, and the body is the challenge, or a JSON object whose `challenge` it is. One that has it
 * elsewhere confirms nothing: a server that echoes requests has it in `data`, and was never asked whether it wants webhooks.
 */
export function isChallengeAnswered({ isSuccess, responseBody }: AttemptResult, challenge: string): boolean {
  if (!isSuccess || responseBody.length > answerBytesMax) return false;
  const text = Buffer.from(responseBody).toString('utf8').trim();
  return text === challenge || memberOf(text) === challenge;
}

function memberOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? ownMember(value, 'challenge') : value;
  } catch {
    return undefined;
  }
}

/** How often a receiver wants to be sent webhooks; undefined where it does not say. */
export interface GrantedConsent {
  readonly perMinute: number | undefined;
}

/**
 * Returns what a receiver grants by the abuse protection of CloudEvents (HTTP 1.1 Web Hooks for Event Delivery, section 4): it names the
 * origin that may send, or `*`. Undefined where it grants nothing.
 */
export function grantedConsent(
  { isSuccess, responseHeaders }: AttemptResult,
  { origin }: Consent,
): GrantedConsent | undefined {
  const headers: unknown = JSON.parse(responseHeaders);
  if (!isSuccess || !isJsonObject(headers)) return undefined;
  const valueOf = (name: string): string => {
    const value = ownMember(headers, name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const allowed = valueOf('webhook-allowed-origin');
  if (allowed !== '*' && allowed.toLowerCase() !== origin.toLowerCase()) return undefined;
  const rate = valueOf('webhook-allowed-rate');
  return { perMinute: /^[1-9]\d{0,8}$/.test(rate) ? Number(rate) : undefined };
}
