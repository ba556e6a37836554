import type { Mutant } from './mutant.ts';

/** Guards of what comes in, of what is kept, and of what goes out. */
export const edgeMutants: readonly Mutant[] = [
  // Requests.
  {
    name: 'a request has one Host',
    file: 'src/http/check-request.ts',
    from: 'if (hosts !== 1 || ',
    to: 'if (hosts < 1 || ',
    tests: ['test/api/http-edge.test.ts'],
  },
  {
    name: 'a header that servers disagree about is given once',
    file: 'src/http/check-request.ts',
    from: 'if (seen.has(name)) throw',
    to: "if (name === '') throw",
    tests: ['test/api/http-edge.test.ts'],
  },
  {
    name: 'a key of a body is given once',
    file: 'src/base/json.ts',
    from: 'Object.keys(value).length !== members) throw duplicateKey(text);',
    to: 'Object.keys(value).length > members) throw duplicateKey(text);',
    tests: ['src/base/json.test.ts'],
  },
  {
    name: 'a body is so many levels deep',
    file: 'src/base/json.ts',
    from: 'if (++depth > limits.depthMax)',
    to: 'if (++depth > 1e9)',
    tests: ['src/base/json.test.ts'],
  },
  {
    name: 'an item of a batch does not say who asks',
    file: 'src/http/read-batch-requests.ts',
    from: "headers.delete('authorization');",
    to: '',
    tests: ['test/api/batch-refusals.test.ts'],
  },
  {
    name: 'a batch has so many requests',
    file: 'src/http/read-batch-requests.ts',
    from: 'if (requests.length > requestsMax)',
    to: 'if (requests.length > 1e9)',
    tests: ['test/api/batch-refusals.test.ts', 'test/api/batch.test.ts'],
  },
  {
    name: 'items of a batch are counted as if they had come alone',
    file: 'src/http/limit-batch.ts',
    from: 'if (quota?.isExceeded !== true) return entry;',
    to: 'if (quota !== null) return entry;',
    tests: ['test/api/rate-limits.test.ts'],
  },
  {
    name: 'nobody but a trusted proxy says where a client is',
    file: 'src/http/client-address.ts',
    from: 'if (!isProxy(peer)) return peer;',
    to: '',
    tests: ['test/api/client-address.test.ts'],
  },
  {
    name: 'a key of idempotency is for one request',
    file: 'src/idempotency/run-once.ts',
    from: 'if (content !== request.content) {',
    to: "if (content === '') {",
    tests: ['test/api/idempotency.test.ts'],
  },
  {
    name: 'If-Match keeps what has changed',
    file: 'src/records/expected-revision.ts',
    from: "throw new AppError('precondition_failed', 'The record has changed.');",
    to: '',
    tests: ['test/api/record-versions.test.ts'],
  },
  {
    name: 'a cursor is for its list',
    file: 'src/records/list-records.ts',
    from: "const place = { purpose: 'cursor', id: JSON.stringify(bound) };",
    to: "const place = { purpose: 'cursor', id: String(bound.length) };",
    tests: ['test/api/cursors.test.ts'],
  },
  {
    name: 'a search that took too long is answered with that',
    file: 'src/storage/sqlite-connection.ts',
    from: 'if (nowMs - this.#startMs > this.#timeoutMs) throw new QueryTimeout();',
    // As not to end it would take for ever.
    to: "if (nowMs - this.#startMs > this.#timeoutMs) throw new Error('late');",
    tests: ['test/api/query-timeout.test.ts'],
  },
  {
    name: 'a filter has so many comparisons',
    file: 'src/filters/parse.ts',
    from: 'if (parser.comparisons === filterLimits.comparisonsMax) {',
    to: 'if (parser.comparisons < 0) {',
    tests: ['src/filters/parse.test.ts'],
  },
  // Webhooks.
  {
    name: 'a webhook goes to public addresses only',
    file: 'src/network/address-guard.ts',
    from: 'if (bytes.length === 4) return !isIn(bytes, refusedIpv4);',
    to: 'if (bytes.length === 4) return true;',
    tests: ['src/network/address-guard.test.ts'],
  },
  {
    name: 'every address of a name is judged',
    file: 'src/network/guarded-connect.ts',
    from: 'if (addresses.length === 0 || !addresses.every(isPermitted))',
    to: 'if (addresses.length === 0 || !addresses.some(isPermitted))',
    tests: ['src/webhooks/guarded-agent.test.ts'],
  },
  {
    name: 'a URL has no user name',
    file: 'src/webhooks/endpoint-url.ts',
    from: "if (url.username !== '' || url.password !== '')",
    to: "if (url.password === '\\0')",
    tests: ['src/webhooks/endpoint-url.test.ts'],
  },
  {
    name: 'an endpoint hears of the collections that it asked for',
    file: 'src/webhooks/endpoint.ts',
    from: 'return endpoint.collections.length === 0 || endpoint.collections.includes(event.collection);',
    to: 'return true;',
    tests: ['test/api/webhook-requests.test.ts'],
  },
  // Writing.
  {
    name: 'a work that failed after it had written is undone',
    file: 'src/storage/write-queue.ts',
    from: "return isGuarded || !tx.hasWritten ? { kind: 'rolled_back', error } : undefined;",
    to: "return { kind: 'rolled_back', error };",
    tests: ['src/storage/sqlite.test.ts'],
  },
  {
    name: 'a batch that failed leaves nothing',
    file: 'src/records/batch.ts',
    from: 'throw new BatchItemFailed(index, error);',
    to: 'void new BatchItemFailed(index, error);',
    tests: ['test/api/batch.test.ts', 'test/api/batch-refusals.test.ts'],
  },
  // Logs.
  {
    name: 'tokens of URLs are not logged',
    file: 'src/http/note-request.ts',
    from: 'const shown = cutText(maskUrl(url), logLimits.urlLengthMax);',
    to: 'const shown = cutText(url, logLimits.urlLengthMax);',
    tests: ['test/api/logs.test.ts'],
  },
  {
    name: 'so many requests a second are logged',
    file: 'src/logs/request-log.ts',
    from: 'if (this.#entries.length < roomFor(level)) return true;',
    to: 'if (roomFor(level) > 0) return true;',
    tests: ['src/logs/request-log.test.ts'],
  },
  {
    name: 'so many entries of a log are kept',
    file: 'src/logs/log-table.ts',
    from: 'if (last === undefined) return;',
    to: 'if (last !== null) return;',
    tests: ['src/logs/request-log.test.ts'],
  },
];
