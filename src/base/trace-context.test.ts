import assert from 'node:assert/strict';
import { test } from 'node:test';
import { continueTrace, nextSpan, toTrace, traceText } from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const valid = `00-${traceId}-${spanId}-01`;
const shape = /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/;

test('a trace goes on with its id and its flag, under a span of its own', () => {
  const { traceparent } = continueTrace({ traceparent: valid });
  assert.match(traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  assert.ok(!traceparent.includes(spanId));
  const child = nextSpan(traceparent);
  assert.match(child, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  assert.notEqual(child, traceparent);
  assert.match(continueTrace({ traceparent: `00-${traceId}-${spanId}-fe` }).traceparent, /-00$/);
});

test('an invalid traceparent begins a new trace, without its tracestate', () => {
  const wrong = [
    undefined,
    '',
    'nothing',
    valid.toUpperCase(),
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-0x`,
    `ff-${traceId}-${spanId}-01`,
    `0-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    `${valid}, ${valid}`,
    `01-${traceId}-${spanId}-01more`,
    [valid, valid],
  ];
  for (const traceparent of wrong) {
    const trace = continueTrace({ traceparent, tracestate: 'a=1' });
    assert.match(trace.traceparent, shape);
    assert.ok(!trace.traceparent.includes(traceId), String(traceparent));
    assert.ok(trace.traceparent.endsWith('-00'));
    assert.equal(trace.tracestate, '');
  }
});

test('a traceparent of a later version is read as far as this one knows it', () => {
  for (const traceparent of [`01-${traceId}-${spanId}-03`, `fe-${traceId}-${spanId}-01-what.is.new`])
    assert.match(continueTrace({ traceparent }).traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
});

test('a valid tracestate is sent on as it is, from several headers as one', () => {
  const stateOf = (tracestate: string | readonly string[]): string =>
    continueTrace({ traceparent: valid, tracestate }).tracestate;
  assert.equal(stateOf('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'), 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE');
  assert.equal(stateOf(['a=1', ' b=2\t, ,c=3 4']), 'a=1,b=2,c=3 4');
  assert.equal(stateOf('fw529a3039@dt=FfAAA;x'), 'fw529a3039@dt=FfAAA;x');
  for (const wrong of [
    'A=1',
    'a',
    'a=',
    'a=1,a=2',
    'a=é',
    'a=b=c',
    '1=2',
    `${'k'.repeat(257)}=1`,
    'a=1\u0001',
  ])
    assert.equal(stateOf(wrong), '', wrong);
  const many = Array.from({ length: 33 }, (_, at) => `k${at}=1`);
  assert.equal(stateOf(many.join(',')), '');
  assert.equal(stateOf(many.slice(1).join(',')), many.slice(1).join(','));
});

test('a long tracestate loses its long entries first, then those at the end', () => {
  const short = Array.from({ length: 8 }, (_, at) => `k${at}=${'x'.repeat(80)}`);
  const long = `long=${'y'.repeat(200)}`;
  const { tracestate } = continueTrace({ traceparent: valid, tracestate: [long, ...short].join(',') });
  assert.equal(tracestate, short.slice(0, 6).join(','));
});

test('a trace is stored as one text', () => {
  for (const tracestate of ['', 'a=1 2,b=3']) {
    const trace = { traceparent: valid, tracestate };
    assert.deepEqual(toTrace(traceText(trace)), trace);
  }
});
