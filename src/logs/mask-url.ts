const secretWords = 'token|secret|passw|key|code|otp|auth|credential|signature|session';
/** Matches names of parameters with a secret value: those that contain any of the words. */
const secretName = new RegExp(secretWords, 'i');
/** Matches values that are secret under any name: record tokens (JWT), API keys, and URLs that have a secret parameter themselves. */
const secretValue = new RegExp(
  String.raw`\bey[\w-]+\.[\w-]+\.[\w-]*|\bck_\w+|[?&]\w*(?:${secretWords})\w*=`,
  'i',
);
/** Matches tokens and keys within a path. */
const secretStep = /\bey[\w-]+\.[\w-]+\.[\w-]*|\bck_\w+/gi;

const masked = '***';

/** Masks credentials in a URL, or in a path with its query. */
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

/** Decodes as the server does, so that encoding cannot hide a name. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
