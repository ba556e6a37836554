import type { Mutant } from './mutant.ts';

const file = 'src/sending/access-tokens.ts';
const tests = ['src/sending/access-tokens.test.ts'];
const apiTests = ['test/api/webhook-oauth2.test.ts'];

/** What the tokens of OAuth 2.0 promise that endpoints' requests carry. */
export const tokenMutants: readonly Mutant[] = [
  {
    name: 'a token is fetched once for all attempts that wait for it',
    file,
    from: 'const entry = isGood ? cached : this.#fetch(query);',
    to: 'const entry = isGood && cached.token !== undefined ? cached : this.#fetch(query);',
    tests,
  },
  {
    name: 'a token is given up before it expires',
    file,
    from: 'seconds * 1_000 - marginMs',
    to: 'seconds * 1_000',
    tests,
  },
  {
    name: 'a token is kept for a second at least',
    file,
    from: 'Math.max(lifetimeMsMin, ',
    to: 'Math.max(-1, ',
    tests,
  },
  {
    name: 'a change of an endpoint makes its token void',
    file,
    from: 'cached?.updated === oauth2.updated',
    to: "cached?.updated !== ''",
    tests,
  },
  {
    name: 'a token that the receiver refuses is dropped',
    file,
    from: 'if (this.#tokens.get(endpointId)?.token === token) this.#tokens.delete(endpointId);',
    to: 'if (token === endpointId) this.#tokens.delete(endpointId);',
    tests,
  },
  {
    name: 'a token that was fetched meanwhile is not dropped with the one before it',
    file,
    from: 'if (this.#tokens.get(endpointId)?.token === token) this',
    to: "if (token !== '') this",
    tests,
  },
  {
    name: 'a token is fetched again once within an attempt',
    file: 'src/sending/attempt.ts',
    from: 'again.#isAgain = true;',
    to: 'again.#isAgain = this.#parts.clock.monotonic() > this.#start + 1_000;',
    tests,
  },
  {
    name: 'no more of an answer with a token is read than its limit',
    file,
    from: 'if (this.#length > answerBytesMax)',
    to: 'if (this.#length > 10 * answerBytesMax)',
    tests,
  },
  {
    name: 'only a token that can stand in a header is sent',
    file,
    from: ' || !sendable.test(token)',
    to: '',
    tests,
  },
  {
    name: 'only a success has a token',
    file,
    from: 'status >= 200 && status < 300 ? tokenOf(answer)',
    to: 'status >= 200 && status < 400 ? tokenOf(answer)',
    tests,
  },
  {
    name: 'what an authorization server says is shown without the secret',
    file,
    from: 'return masked(text, secrets)',
    to: 'return masked(text, secrets.slice(1_000))',
    tests,
  },
  {
    name: 'a kept answer is shown without the token',
    file: 'src/sending/attempt.ts',
    from: "sentSecrets([...this.#sent, 'token', this.#token ?? ''])",
    to: "sentSecrets([...this.#sent.slice(0, -2), 'token', ''])",
    tests,
  },
  {
    name: 'a client is shown without its secret',
    file: 'src/sending/client-credentials.ts',
    from: '{ ...credentials, clientSecret: maskedValue }',
    to: '{ ...credentials }',
    tests: apiTests,
  },
  {
    name: 'the secret of a client goes to no server that it was not given for',
    file: 'src/sending/client-credentials.ts',
    from: 'new URL(tokenUrl).origin === new URL(existing.tokenUrl).origin',
    to: "existing.tokenUrl !== ''",
    tests: apiTests,
  },
  {
    name: 'a URL of tokens is checked as that of an endpoint',
    file: 'src/endpoints/endpoint-options.ts',
    from: 'decodeUrl: (url) => decodeUrl(url, {',
    to: "decodeUrl: (url) => typeof url === 'string' && url !== '' ? { value: url } : decodeUrl(url, {",
    tests: apiTests,
  },
  {
    name: 'an endpoint has a token or a header authorization',
    file: 'src/endpoints/endpoint.ts',
    from: "oauth2 !== null && headers['authorization'] !== undefined",
    to: "oauth2 === null && headers['authorization'] === ''",
    tests: apiTests,
  },
  {
    name: 'an agent is offered what writes only where writing is allowed',
    file: 'src/mcp/mcp-server.ts',
    from: '(writes !== true || mayWrite) &&',
    to: '',
    tests: ['test/api/mcp.test.ts'],
  },
  {
    name: 'a tool is a request of its client, not of the operator',
    file: 'src/http/server/internal-request.ts',
    from: 'this.isOperator = cause.client === undefined;',
    to: 'this.isOperator = true;',
    tests: ['test/api/mcp.test.ts'],
  },
];
