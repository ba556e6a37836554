const secretWords = 'token|secret|passw|key|code|otp|auth|credential|signature|session';
/** Names of parameters whose values are nobody's business, wherever in the name these stand. */
const secretName = new RegExp(secretWords, 'i');
/** Tokens of records (JWT), keys of machines, and a URL inside another one that has a secret. */
const secretValue = new RegExp(
  String.raw`\bey[\w-]+\.[\w-]+\.[\w-]*|\bck_\w+|[?&]\w*(?:${secretWords})\w*=`,
  'i',
);
/** As far as they stand in a path. */
const secretStep = /\bey[\w-]+\.[\w-]+\.[\w-]*|\bck_\w+/gi;

const masked = '***';

/** A URL, or a path with its query, without what would let its reader in. */
export function maskUrl(url: string): string {
  const at = url.indexOf('?');
  if (at < 0) return url.replace(secretStep, masked);
  const path = url.slice(0, at).replace(secretStep, masked);
  const parameters = url.slice(at + 1).split('&');
  return `${path}?${parameters.map(maskParameter).join('&')}`;
}

function maskParameter(text: string): string {
  const at = text.indexOf('=');
  if (at < 0) return secretValue.test(decoded(text)) ? masked : text;
  const name = text.slice(0, at);
  const isSecret = secretName.test(decoded(name)) || secretValue.test(decoded(text.slice(at + 1)));
  return isSecret ? `${name}=${masked}` : text;
}

/** As the server reads it, so that no way of writing hides a name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
