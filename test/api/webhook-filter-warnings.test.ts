// Both engines: what a field never equals is so in SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import { type Json, startWebhookService } from '../support/webhook-service.ts';

const endpoints = '/api/webhooks/endpoints';

test('a filter that compares a select with what is none of its values is allowed, with a warning', async (t) => {
  const service = await startWebhookService(t);
  const fields = [
    { name: 'status', type: 'select', values: ['open', 'paid'] },
    { name: 'tags', type: 'select', values: ['a', 'b'], maxSelect: 2 },
    { name: 'level', type: 'select', values: ['low', 'high'], hidden: true },
    { name: 'title', type: 'text' },
    { name: 'rank', type: 'number' },
    { name: 'isPaid', type: 'bool' },
    { name: 'due', type: 'date' },
  ];
  const orders = await service.call('POST', '/api/collections', {
    body: { name: 'orders', type: 'base', fields },
  });
  const relation = { name: 'order', type: 'relation', collectionId: orders.id };
  await service.call('POST', '/api/collections', {
    body: { name: 'items', type: 'base', fields: [relation] },
  });
  const url = service.receiver.url;
  const check = async (filter: string, collections = ['orders']): Promise<readonly string[]> => {
    const body = { url, collections, filter };
    const { problems, warnings } = await service.call('POST', `${endpoints}/check`, { body });
    assert.deepEqual(problems, {});
    return warnings;
  };
  const values = 'is not a value of this field of orders. Its values are open, paid.';
  const never = 'this field of orders is never';
  const tags = 'is not a value of this field of orders. Its values are a, b.';
  const paid = `${values} Did you mean paid?`;
  for (const [filter, ...expected] of [
    ['status = "Paid"', `status = "Paid": "Paid" ${paid}`],
    [
      'title = "x" && (@old.status != "Paid" || "sent" ?= status)',
      `@old.status != "Paid": "Paid" ${paid}`,
      `"sent" ?= status: "sent" ${values}`,
    ],
    [
      'tags:each ?= "c"',
      'tags:each ?= "c": "c" is not a value of this field of orders. Its values are a, b.',
    ],
    [
      'level = "mid"',
      'level = "mid": "mid" is not a value of this field of orders. Its values are low, high.',
    ],
    [
      'status = "paid" && status != "" && status ~ "Pa" && tags:each = "a" && title = "Paid" && status:lower = "x"',
    ],
    ['status = title && tags = "c" && status > "Paid"'],
    ['tags:each = "A" && tags:each ?= "a"', `tags:each = "A": "A" ${tags} Did you mean a?`],
    ['rank != "high"', `rank != "high": ${never} "high". Compare it with a number.`],
    ['isPaid = "true"', `isPaid = "true": ${never} "true". Compare it with true or false.`],
    ['2 = isPaid', `2 = isPaid: ${never} 2. Compare it with true or false.`],
    [
      'rank = "5" && rank != "" && isPaid = true && isPaid = 1 && due = "2026-11-20" && due = "2026" && due != ""',
    ],
  ] as const)
    assert.deepEqual(await check(filter), expected, filter);
  const dates = await service.call('POST', `${endpoints}/check`, {
    body: { url, collections: ['orders'], filter: 'due ?= "soon"' },
  });
  assert.match(dates.problems.filter.message, /Expected a time such as/);
  // A filter of which a warning says that it is never true is not, and its opposite always is.
  await service.call('POST', '/api/collections/orders/records', {
    body: { rank: 1, isPaid: true, due: '2026-11-20' },
  });
  for (const comparison of ['status = "Paid"', 'rank = "high"', 'isPaid = "true"', 'isPaid = 2'])
    for (const [filter, count] of [
      [comparison, 0],
      [comparison.replace('=', '!='), 1],
    ] as const) {
      const list = `/api/collections/orders/records?filter=${encodeURIComponent(filter)}`;
      assert.equal((await service.call('GET', list)).totalItems, count, filter);
    }
  const ofRelation =
    'order.status = "Paid": "Paid" is not a value of this field of items. Its values are open, paid. Did you mean paid?';
  assert.deepEqual(await check('order.status = "Paid"', ['items']), [ofRelation]);
  assert.deepEqual(await check('status = "Paid"', []), [`status = "Paid": "Paid" ${paid}`]);

  const filter = 'status = "Paid" && level = "mid"';
  const body = { url, collections: ['orders'], filter, secret: 'a secret of our own' };
  const made = await service.call('POST', endpoints, { body, status: 201 });
  assert.equal(made.warnings.length, 3);
  const path = `${endpoints}/${made.id}`;
  const changed: Json = await service.call('PATCH', path, { body: { filter: 'status = "Open"' } });
  assert.deepEqual(changed.warnings, [`status = "Open": "Open" ${values} Did you mean open?`]);
  const tested = await service.call('POST', '/api/webhooks/filters/test', {
    body: { collection: 'orders', filter },
  });
  assert.equal(tested.warnings.length, 2);
  await service.call('PATCH', path, { body: { filter } });
  // What the author of a change may not name is not told by a warning either.
  const { key: token } = await makeKey(service, ['webhooks:write']);
  const answer = await service.request(path, { method: 'PATCH', token, body: { description: 'new' } });
  assert.deepEqual(answer.json.warnings, [`status = "Paid": "Paid" ${paid}`]);
});
