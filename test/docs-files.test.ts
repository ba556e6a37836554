import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { FileStage } from './support/file-stage.ts';
import { superuserSdk } from './support/sdk.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const page = readFileSync(new URL('../docs/files.md', import.meta.url), 'utf8');
const withoutCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'there is no curl';

test('the commands of docs/files.md store files', { skip: withoutCurl }, async (t) => {
  const stage = await FileStage.start(t);
  const [, commands = ''] = /```sh\n(.*?)```/s.exec(page) ?? [];
  const cwd = temporaryFolder(t);
  const script = commands.replaceAll('http://127.0.0.1:8090', stage.service.url);
  const { stdout } = await promisify(execFile)('sh', ['-ec', script], { cwd });
  // A record of the collection.
  const record = JSON.parse(stdout) as {
    readonly id: string;
    readonly photo: string;
    readonly papers: string[];
  };
  assert.match(record.photo, /^team_[a-z0-9]{10}\.png$/);
  assert.equal(String(await stage.content(record.id, record.photo)), 'a picture\n');
  assert.equal(record.papers.length, 2);
  await stage.settled();
});

test('the lines for the SDK in docs/files.md are what the SDK takes', async (t) => {
  const stage = await FileStage.start(t);
  const pb = await superuserSdk(stage.service);
  const [, lines = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  assert.match(
    lines,
    /create\(\{ title: 'Report', photo: file \}\);\n.*update\(record\.id, \{ 'papers\+': \[one, two\] \}\);/s,
  );
  const file = new File(['a'], 'a.txt');
  const record = await pb.collection('docs').create({ title: 'Report', photo: file });
  const changed = await pb.collection('docs').update(record.id, { 'papers+': [file, file] });
  assert.equal(changed['papers'].length, 2);
});
