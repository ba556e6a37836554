import assert from 'node:assert/strict';
import { test } from 'node:test';
import { xmlElements } from './xml-elements.ts';

test('elements are read with the texts of their children', async () => {
  const xml = `<?xml version="1.0"?>
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>
    <Contents><Key>a&amp;b</Key><Size>5</Size><Owner><ID>x</ID></Owner></Contents>
    <Contents><Key>c</Key><Size>6</Size></Contents></ListBucketResult>`;
  const contents = await xmlElements(xml, 'Contents');
  assert.deepEqual(
    contents.map((one) => [one.get('Key'), one.get('Size'), one.get('ID')]),
    [
      ['a&b', '5', undefined],
      ['c', '6', undefined],
    ],
  );
  assert.equal((await xmlElements(xml, 'ListBucketResult'))[0]?.get('IsTruncated'), 'true');
});

test('invalid XML has no elements', async () => {
  for (const text of ['', 'no', '<', '{"a":1}', '<Error', '<!DOCTYPE a [<!ENTITY b "c">]><Error>&b;</Error>'])
    assert.deepEqual(
      (await xmlElements(text, 'Error')).flatMap((one) => [...one]),
      [],
    );
});
