import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../base/errors.ts';
import { requireQuotas } from './quotas.ts';

function refusal(value: unknown): unknown {
  try {
    return requireQuotas(value);
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'bad_request');
    return error.details;
  }
}

test('quotas are whole numbers in the range of each, and all of them are optional', () => {
  const all = {
    records: 0,
    collections: 0,
    dataBytes: 0,
    fileBytes: 0,
    requestsPerSecond: 1,
    writesPerSecond: 1,
    endpoints: 0,
    deliveriesPerDay: 0,
    realtimeConnections: 0,
    concurrentRequests: 1,
  };
  for (const quotas of [{}, all, { fileBytes: 1e15 }]) assert.deepEqual(requireQuotas(quotas), quotas);
});

test('each member that is no quota is a problem of its own', () => {
  const quotas = {
    record: 1,
    dataBytes: '5',
    fileBytes: 1.5,
    endpoints: -1,
    concurrentRequests: 0,
    records: 2e12,
  };
  assert.deepEqual(refusal(quotas), {
    record: { code: 'validation_unknown_field', message: 'There is no such member. Did you mean records?' },
    dataBytes: {
      code: 'validation_not_a_number',
      message: 'The submitted number is not properly formatted.',
    },
    fileBytes: { code: 'validation_only_int_constraint', message: 'Decimal numbers are not allowed.' },
    endpoints: {
      code: 'validation_min_number_constraint',
      message: 'Must be greater or equal than 0.',
      params: { min: 0 },
    },
    concurrentRequests: {
      code: 'validation_min_number_constraint',
      message: 'Must be greater or equal than 1.',
      params: { min: 1 },
    },
    records: {
      code: 'validation_max_number_constraint',
      message: 'Must be less or equal than 1000000000000.',
      params: { max: 1e12 },
    },
  });
  const none = {
    quotas: { code: 'validation_unsupported_value_type', message: 'Invalid or unsupported value type.' },
  };
  for (const value of [null, 5, 'records', [1]]) assert.deepEqual(refusal(value), none);
  const proto = refusal(JSON.parse('{"__proto__": 1}'));
  assert.ok(typeof proto === 'object' && proto !== null);
  assert.deepEqual(Object.keys(proto), ['__proto__']);
});
