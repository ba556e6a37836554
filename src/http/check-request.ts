import type { IncomingMessage } from 'node:http';
import { AppError } from '../base/errors.ts';
import { hostName } from './host-name.ts';

const headerLinesMax = 100;

/** Headers of which a second one would let two parts of a chain of servers see two different requests. */
const SINGLE = new Set([
  'authorization',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
]);

const LENGTHS = new Set(['host', ...SINGLE].map((name) => name.length));

/**
 * Refuses requests that servers are known to disagree about, before anything of them is believed (RFC 9112 sections 3.2,
 * 6.1 and 11.2). Node is lenient here: it takes the first of two Host headers, and a transfer coding that it does not know.
 */
export function checkRequest(request: IncomingMessage): void {
  const { rawHeaders, headers, httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw refusal('Expected HTTP/1.1');
  if (rawHeaders.length > headerLinesMax * 2)
    throw refusal(`At most ${headerLinesMax} header lines are allowed`);
  let hosts = 0;
  let seen: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const written = rawHeaders[index] ?? '';
    // Most names have another length than all of those: they need not be looked at any closer.
    if (!LENGTHS.has(written.length)) continue;
    const name = written.toLowerCase();
    if (name === 'host') hosts += 1;
    if (!SINGLE.has(name)) continue;
    seen ??= new Set();
    if (seen.has(name)) throw refusal(`The header ${name} is given twice`);
    seen.add(name);
  }
  if (hosts !== 1 || hostName(headers.host ?? '') === undefined)
    throw refusal('Expected one valid Host header');
  checkCoding(request);
  checkTarget(request.url ?? '');
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

/** Percent signs that encode nothing, no UTF-8, or U+0000. */
function checkTarget(url: string): void {
  if (!url.startsWith('/')) throw refusal('Expected a path');
  if (!url.includes('%')) return;
  if (/%00/.test(url)) throw refusal('The path must not contain %00');
  try {
    decodeURIComponent(url);
  } catch (error) {
    throw new AppError('bad_request', 'The path is not valid percent-encoded UTF-8.', { cause: error });
  }
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}
