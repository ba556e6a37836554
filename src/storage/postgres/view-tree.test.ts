import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readViewTree } from './view-tree.ts';

const entry =
  '{TARGETENTRY :expr {VAR :varno 1 :varattno 2 :vartype 25} :resno 1 :resname id :ressortgroupref 0 :resorigtbl 20000 :resorigcol 2 :resjunk false}';
const tree = (more: string): string =>
  `({QUERY :commandType 1 :hasRecursive false :rtable ({RANGETBLENTRY :rtekind 0 :relid 20000}) :targetList (${entry} ${more}) :rowMarks <>})`;

test('tables, functions and origins of columns are read', () => {
  const read = readViewTree(tree('{FUNCEXPR :funcid 870 :funcresulttype 25 :funcformat 0}'));
  assert.ok(typeof read !== 'string');
  assert.deepEqual([[...read.tables], [...read.functions]], [[20_000], [870]]);
  assert.deepEqual([...read.origins], [[1, { table: 20_000, column: 2 }]]);
});

test('what is not known is refused', () => {
  const nodes = [
    '{NEWNODE :location 1}',
    '{VAR :varattno 0}',
    '{VAR :varattno -1}',
    '{CONST :consttype 2205}',
    '{CONST :consttype}',
    '{FUNCEXPR :funcid 20001 :funcformat 1}',
    '{OPEXPR :opno 20001}',
    '{QUERY :commandType 4}',
    '{QUERY :rowMarks ({ROWMARKCLAUSE :rti 1})}',
    '{COMMONTABLEEXPR :cterecursive true}',
    '{RANGETBLENTRY :relid x}',
  ];
  for (const node of nodes) assert.equal(typeof readViewTree(tree(node)), 'string', node);
});
