import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startService, type TestAnswer } from '../support/service.ts';

interface Example {
  readonly field: Readonly<Record<string, unknown>>;
  /** What was sent, and what is answered or the code of the refusal. */
  readonly values?: readonly (readonly [sent: unknown, answered: unknown])[];
  /** Bodies for one record, one after the other. */
  readonly steps?: readonly (readonly [body: Readonly<Record<string, unknown>>, answered: unknown])[];
}

const page = readFileSync(new URL('../../docs/fields.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)]
  // Our own page: a block with these members has this form, or the test fails on it.
  .map(([, text = '']) => JSON.parse(text) as Example)
  .filter(({ values, steps }) => values !== undefined || steps !== undefined);

test('what docs/fields.md says of a value is what is answered', async (t) => {
  const service = await startService(t);
  const ask = (method: string, path: string, body: object): Promise<TestAnswer> =>
    service.request(`/api/collections${path}`, { method, token: true, body });
  assert.ok(examples.length >= 10, 'the page has its examples');
  for (const [index, { field, values = [], steps = [] }] of examples.entries()) {
    const name = `c${index}`;
    const made = await ask('POST', '', { name, fields: [{ name: 'f', ...field }] });
    assert.equal(made.status, 200, made.text);
    for (const [sent, answered] of values)
      assertAnswered(await ask('POST', `/${name}/records`, { f: sent }), answered);
    if (steps.length === 0) continue;
    const { json } = await ask('POST', `/${name}/records`, {});
    for (const [body, answered] of steps)
      assertAnswered(await ask('PATCH', `/${name}/records/${json.id}`, body), answered);
  }
});

function assertAnswered(answer: TestAnswer, answered: unknown): void {
  const isRefusal = typeof answered === 'string' && answered.startsWith('validation_');
  const got: unknown = isRefusal ? answer.json.data.f?.code : answer.json.f;
  assert.deepEqual([answer.status >= 400, got], [isRefusal, answered], answer.text);
}
