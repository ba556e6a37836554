import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSharedState } from '../tools/tidy/shared-state.ts';
import { sourceFile } from '../tools/tidy/source-file.ts';

const isRefused = (path: string, text: string): boolean =>
  checkSharedState([sourceFile({ path, text })], {}).length > 0;

test('queues, limits, caches and changing state of the whole process are refused', () => {
  for (const code of [
    'const queue = new BoundedQueue({ runningMax: 2 });',
    'export const budget: MemoryBudget = new MemoryBudget(5);',
    'const cache = new GenerationCache<string, { readonly a: number }>(5, (one) => one.a);',
    'const waiters = new Map<string, number>();',
    'const seen: Set<string> = new Set();',
    'let running = 0;',
    'const waiting: (() => void)[] = [];',
    'class Queue { readonly #waiting: (() => void)[] = []; }',
    'class Queue { #waiting: PromiseWithResolvers<string>[] = []; }',
    'function queue() { const waiting: (() => void)[] = []; return waiting; }',
  ]) {
    assert.ok(isRefused('src/http/a.ts', code), code);
    for (const path of ['src/cli/a.ts', 'src/http/a.test.ts', 'test/a.ts', 'tools/a.ts'])
      assert.ok(!isRefused(path, code), `${path}: ${code}`);
  }
});

test('what hands out by instance, constants, and what belongs to an object or a call are accepted', () => {
  for (const code of [
    'const hashing = new FairQueue({ runningMax: 2 });',
    'const names: ReadonlySet<string> = new Set();',
    "const names = new Set(['a', 'b']);",
    'const byName = new Map([[1, 2]]);',
    'const pattern = new RegExp(`${a}`);',
    'const peers = new WeakMap<Socket, string>();',
    'const none: readonly string[] = [];',
    'class One { readonly #cache = new GenerationCache<string, string>(5); }',
    'function f() { let count = 0; const seen = new Map(); return [count, seen]; }',
    'const make = () => { const found: string[] = []; return found; };',
  ])
    assert.ok(!isRefused('src/http/a.ts', code), code);
});

test('a reason is needed for each, and none for what is not there', () => {
  const file = sourceFile({ path: 'src/http/a.ts', text: 'let a = 0;\nlet b = 0;\n' });
  const rule = sourceFile({ path: 'tools/tidy/shared-state.ts', text: '' });
  const found = checkSharedState([file, rule], { 'src/http/a.ts': { a: 'copies', c: 'copies' } });
  assert.deepEqual(
    found.map(({ line, message }) => [line, message.slice(0, 20)]),
    [
      [2, 'all instances share '],
      [1, 'c is not shared any '],
    ],
  );
});
