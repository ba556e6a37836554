import assert from 'node:assert/strict';
import type { TestAnswer, TestService } from './service.ts';

/** A request or answer in a page: first line, headers and body. */
interface Message {
  readonly start: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: unknown;
}

/**
 * Sends every request of a page in order, and compares each answer with the block after it. `seen` maps texts of the page to real
 * values, for example of a token. For each text of an answer with an ellipsis, the real value is added.
 */
export async function askPage(
  service: TestService,
  page: string,
  seen: Map<string, string> = new Map(),
): Promise<void> {
  const messages = [...page.matchAll(/^```http\n(.*?)^```$/gms)].map(([, text]) => readMessage(text ?? ''));
  assert.ok(messages.length > 0 && messages.length % 2 === 0, 'requests and answers in turn');
  for (let index = 0; index < messages.length; index += 2) {
    const [request, expected] = messages.slice(index, index + 2);
    assert.ok(request !== undefined && expected !== undefined);
    compare(await send(service, request, seen), expected, {
      seen,
      where: `${index / 2 + 1}: ${request.start}`,
    });
  }
}

function readMessage(text: string): Message {
  const [head = '', ...bodies] = text.split('\n\n');
  const [start = '', ...lines] = head.trimEnd().split('\n');
  const headers = lines.map((line) => {
    const [, name = '', value = ''] = /^([\w-]+): (.+)$/.exec(line) ?? [];
    assert.ok(name !== '', `a header: ${line}`);
    return [name, value] as const;
  });
  const body: unknown = bodies.length === 0 ? undefined : JSON.parse(bodies.join('\n\n'));
  return { start, headers, body };
}

function send(
  service: TestService,
  request: Message,
  seen: ReadonlyMap<string, string>,
): Promise<TestAnswer> {
  const [method = '', path = ''] = request.start.split(' ');
  const headers = Object.fromEntries(
    request.headers.map(([name, value]) => [name, seen.get(value) ?? value]),
  );
  const filled = path.replaceAll(/[^=&]*…[^&]*/g, (value) => seen.get(value) ?? value);
  return service.request(filled, { method, headers, body: request.body });
}

interface Comparison {
  readonly seen: Map<string, string>;
  readonly where: string;
}

function compare(answer: TestAnswer, expected: Message, { seen, where }: Comparison): void {
  assert.equal(`${answer.status}`, expected.start, `${where}: ${answer.text}`);
  for (const [name, value] of expected.headers) {
    const given = answer.headers.get(name) ?? '';
    assert.match(given, toPattern(value), `${where}: ${name}`);
    seen.set(value, given);
  }
  if (expected.body !== undefined)
    assert.deepEqual(withEllipses(answer.json, expected.body, seen), expected.body, where);
}

function toPattern(text: string): RegExp {
  return new RegExp(
    `^${text
      .split('…')
      .map((part) => RegExp.escape(part))
      .join('.+')}$`,
  );
}

/** Returns the value with each text that matches an expected one with an ellipsis replaced by it. */
function withEllipses(value: unknown, expected: unknown, seen: Map<string, string>): unknown {
  if (typeof value === 'string' && typeof expected === 'string') {
    if (!toPattern(expected).test(value)) return value;
    if (expected.includes('…')) seen.set(expected, value);
    return expected;
  }
  if (typeof value !== 'object' || typeof expected !== 'object' || value === null || expected === null)
    return value;
  if (Array.isArray(value))
    return value.map((item, index) =>
      withEllipses(item, Array.isArray(expected) ? expected[index] : undefined, seen),
    );
  const members = new Map(Object.entries(expected));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withEllipses(item, members.get(name), seen)]),
  );
}
