import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOfHtml } from './render-mail.ts';

const cases: readonly (readonly [html: string, text: string])[] = [
  ['Hello', 'Hello'],
  ['', ''],
  ['<p>One\n two</p>\n<p>Three &amp; four</p>', 'One two\n\nThree & four'],
  ['one<br>two<br><br>three<br/>four', 'one\ntwo\n\nthree\nfour'],
  ['<div>one</div><div>two</div><span>three</span> four', 'one\ntwo\nthree four'],
  ['<ul><li>one</li><li>two</li></ul>end', '- one\n- two\n\nend'],
  ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
  ['<head><title>no</title><style>p {}</style></head><body><p>yes</p></body>', 'yes'],
  [
    '<p>See <a href="https://a.example/x?y=1&amp;z=2">here</a>.</p>',
    'See here <https://a.example/x?y=1&z=2>.',
  ],
  ['<a href="https://a.example/"> https://a.example/ </a>', 'https://a.example/'],
  ['<a href="mailto:a@example.com">Write</a>', 'Write <mailto:a@example.com>'],
  [
    '<a HREF=https://a.example>one<a href="https://b.example">two</a>',
    'one <https://a.example>two <https://b.example>',
  ],
  ['<a href="javascript:alert(1)">one</a> <a href="#top">two</a> <a>three</a>', 'one two three'],
  ['<a href="https://a.example/ https://b.example">one</a>', 'one'],
  ['<a href="https://a.example/&lt;b&gt;">one</a>', 'one'],
  ['<a title="https://a.example">one</a><link href="https://b.example">', 'one'],
  ['<p>&lt;b&gt; is &#98;old</p>', '<b> is bold'],
  ['a < b and c', 'a < b and c'],
];

for (const [html, text] of cases)
  test(`${JSON.stringify(html)} is read as ${JSON.stringify(text)}`, () =>
    assert.equal(textOfHtml(html), text));

test('a mail of any kind is read in a time that its length bounds', () => {
  const link = '<a href="https://a.example">a link</a> and ';
  for (const part of [
    link,
    '<p>',
    '<a href="https://a.example">',
    '<a href="',
    '</a>',
    '&amp;',
    ' \n',
    'x',
    '<br>',
  ])
    assert.equal(typeof textOfHtml(part.repeat(20_000)), 'string');
});
