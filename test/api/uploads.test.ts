import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestAnswer } from '../support/service.ts';
import { FileStage, type FormPart } from '../support/file-stage.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const photo: FormPart = ['photo', png, 'Me and You.png'];

function paper(content: string, name = `${content}.txt`): FormPart {
  return ['papers', content, name];
}

test('a file comes in with a new record, which names it', async (t) => {
  const stage = await FileStage.start(t);
  const { status, json, text } = await stage.create([['title', 'a'], photo, paper('one'), paper('two')]);
  assert.equal(status, 201, text);
  assert.match(json.photo, /^me_and_you_[a-z0-9]{10}\.png$/);
  assert.equal(json.papers.length, 2);
  assert.match(json.papers[0], /^one_[a-z0-9]{10}\.txt$/);
  assert.deepEqual(await stage.content(json.id, json.photo), png);
  assert.equal(String(await stage.content(json.id, json.papers[1])), 'two');
  await stage.settled();
});

test('an update adds, replaces and removes files, by all the names that a field has in a body', async (t) => {
  const stage = await FileStage.start(t);
  const { json: made } = await stage.create([photo, paper('one')]);
  const [one] = made.papers;
  const change = async (
    parts: readonly FormPart[],
    papers: readonly RegExp[],
  ): Promise<TestAnswer['json']> => {
    const { status, json, text } = await stage.update(made.id, parts);
    assert.equal(status, 200, text);
    assert.equal(json.papers.length, papers.length, text);
    for (const [index, name] of papers.entries()) assert.match(json.papers[index], name);
    await stage.settled();
    return json;
  };
  await change([['papers+', 'two', 'two.txt']], [/^one/, /^two/]);
  const three = await change([['+papers', 'zero', 'zero.txt']], [/^zero/, /^one/, /^two/]);
  await change([['papers-', three.papers[2]]], [/^zero/, /^one/]);
  await change([['papers', one], paper('six')], [/^one/, /^six/]);
  await change([paper('seven')], [/^seven/]);
  const replaced = await change([['photo', png, 'other.png']], [/^seven/]);
  assert.match(replaced.photo, /^other_/);
  const emptied = await change(
    [
      ['photo', ''],
      ['papers', ''],
    ],
    [],
  );
  assert.equal(emptied.photo, '');
  assert.deepEqual(await stage.stored(), []);
});
