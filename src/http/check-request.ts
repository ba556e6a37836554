import type { IncomingMessage } from 'node:http';
import { assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { hostName } from './host-name.ts';

const headerLinesMax = 100;

/** Headers that must not be repeated, or two servers of a chain could see two different requests. */
const SINGLE = [
  'host',
  'content-type',
  'authorization',
  'content-length',
  'content-encoding',
  'transfer-encoding',
];

/** The same by length, which is different for each: most header names of a request have another length, and are skipped cheaply. */
const SINGLE_BY_LENGTH = new Map(SINGLE.map((name) => [name.length, name]));
assert(SINGLE_BY_LENGTH.size === SINGLE.length, 'no two of these headers have names of one length');

/**
 * Refuses requests that servers are known to disagree about, before anything in them is trusted (RFC 9112 sections 3.2,
 * 6.1 and 11.2). Node is lenient here: it takes the first of two Host headers, and a transfer coding that it does not know.
 */
export function checkRequest(request: IncomingMessage): void {
  const { rawHeaders, headers, httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw refusal('Expected HTTP/1.1');
  if (rawHeaders.length > headerLinesMax * 2)
    throw refusal(`At most ${headerLinesMax} header lines are allowed`);
  // One bit for each length in SINGLE_BY_LENGTH.
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const written = rawHeaders[index] ?? '';
    const name = SINGLE_BY_LENGTH.get(written.length);
    if (name === undefined || written.toLowerCase() !== name) continue;
    const bit = 1 << name.length;
    if ((seen & bit) !== 0) throw refusal(refusalOfSecond(name));
    seen |= bit;
  }
  if (hostName(headers.host ?? '') === undefined) throw refusal(NO_HOST);
  checkCoding(request);
  checkTarget(request.url ?? '');
}

const NO_HOST = 'Expected one valid Host header';

function refusalOfSecond(name: string): string {
  return name === 'host' ? NO_HOST : `The header ${name} is given twice`;
}

function checkCoding({ headers, httpVersion }: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    throw refusal('Only the transfer coding "chunked" of HTTP/1.1 is allowed');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AppError(
      'unsupported_media_type',
      'Unsupported Content-Type. Compressed bodies are not accepted.',
    );
  }
}

/** Refuses percent signs that encode nothing, invalid UTF-8 and U+0000. In a path, the router has already refused the first two. */
function checkTarget(url: string): void {
  if (!url.startsWith('/')) throw refusal('Expected a path');
  if (!url.includes('%')) return;
  if (/%00/.test(url)) throw refusal('The URL must not contain %00');
  try {
    decodeURIComponent(url);
  } catch (error) {
    const message = 'The query is not valid percent-encoded UTF-8: a percent sign itself is written %25.';
    throw new AppError('bad_request', message, { cause: error });
  }
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}
