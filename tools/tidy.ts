/**
 * The rules of the house, executed: prints `file:line rule message` for each breach and exits 1 if there is any.
 * Each rule is a pure function over the files of the tree, in a file of tools/tidy/; check-tree.ts lists them.
 */
import { fileURLToPath } from 'node:url';

import { checkTree } from './tidy/check-tree.ts';
import { readTree } from './tidy/read-tree.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const violations = checkTree(readTree(process.argv[2] ?? root));
for (const { path, line, rule, message } of violations) console.log(`${path}:${line} ${rule} ${message}`);
if (violations.length > 0) process.exitCode = 1;
