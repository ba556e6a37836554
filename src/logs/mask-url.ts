const secretWords = 'token|secret|passw|key|code|otp|auth|credential|signature|session';
/** Matches names of parameters with a secret value: those that contain any of the words. */
const secretName = new RegExp(secretWords, 'i');
/**
 * Matches record tokens (JWT), with what precedes them in the same word, and API keys. Each word is looked through from its
 * beginning only, and only where two more follow: otherwise every `-ey` in a long word would read the rest of it again.
 */
const secretText = /(?<![\w-])(?=[\w-]+\.[\w-]+\.)[\w-]*?\bey[\w-]+\.[\w-]+\.[\w-]*|\bck_\w+/gi;
/** Matches a parameter with a secret name inside a value, as in a URL. */
const secretParameter = new RegExp(String.raw`[?&](?=\w+=)\w*(?:${secretWords})`, 'i');

const masked = '***';

/** Masks credentials in a URL, or in a path with its query. */
export function maskUrl(url: string): string {
  const at = url.indexOf('?');
  if (at < 0) return url.replace(secretText, masked);
  const path = url.slice(0, at).replace(secretText, masked);
  const parameters = url.slice(at + 1).split('&');
  return `${path}?${parameters.map(maskParameter).join('&')}`;
}

function maskParameter(text: string): string {
  const at = text.indexOf('=');
  if (at < 0) return isSecretValue(decoded(text)) ? masked : text;
  const name = text.slice(0, at);
  const isSecret = secretName.test(decoded(name)) || isSecretValue(decoded(text.slice(at + 1)));
  return isSecret ? `${name}=${masked}` : text;
}

/** Whether a value is secret under any name: a token or a key, or a URL that has a secret parameter itself. */
function isSecretValue(value: string): boolean {
  return value.search(secretText) >= 0 || secretParameter.test(value);
}

/** Decodes as the server does, so that encoding cannot hide a name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
