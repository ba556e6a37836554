import type { ResponseHeaders } from './mask-secrets.ts';

const headersJsonBytesMax = 4 * 1024;

/** Returns an answer's headers as a JSON object of at most 4 KiB, in the order they came; those that would not fit are left out. */
export function keptHeaders(headers: ResponseHeaders): string {
  const whole = JSON.stringify(headers);
  // The common case needs no cut. UTF-8 takes at most three bytes for one UTF-16 unit.
  if (whole.length * 3 <= headersJsonBytesMax) return whole;
  let json = '';
  let room = headersJsonBytesMax - 2;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const member = `${json === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
    const size = Buffer.byteLength(member);
    if (size > room) continue;
    json += member;
    room -= size;
  }
  return `{${json}}`;
}
