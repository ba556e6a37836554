import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { describePlaces } from '../support/command-stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describePlaces('openapi', (start) => {
  test('the document has the collections of the instance, on standard output and in a file', async (t) => {
    const { run } = await start(t);
    const { code, stdout, stderr } = await run(['openapi']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\{\n {2}"openapi": "3\.1/);
    assert.ok('/api/collections/posts/records' in JSON.parse(stdout).paths);
    const file = join(temporaryFolder(t), 'openapi.json');
    const written = await run(['openapi', '--out', file]);
    assert.deepEqual([written.code, written.stdout], [0, `Wrote ${file}.\n`]);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')).openapi, JSON.parse(stdout).openapi);
  });
});
