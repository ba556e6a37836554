import assert from 'node:assert/strict';
import { test } from 'node:test';
import { excerpt } from './projection.ts';

const excerpts: readonly (readonly [html: string, lengthMax: number, text: string])[] = [
  ['plain', 10, 'plain'],
  ['', 10, ''],
  ['<p>Hello <b>bold</b> world</p>', 100, 'Hello bold world'],
  ['<p>Hello <b>bold</b> world</p>', 5, 'Hello...'],
  ['<p>Hello <b>bold</b> world</p>', 6, 'Hello...'],
  ['<p>Hello <b>bold</b> world</p>', 7, 'Hello b...'],
  ['<p>Hello</p>', 5, 'Hello'],
  ['<p>Hello</p>   <p></p>', 5, 'Hello'],
  ['Hello&nbsp;!', 5, 'Hello...'],
  // Block tags part words, others do not.
  ['<h1>One</h1><p>Two</p><ul><li>a<li>b</ul>', 100, 'One Two a b'],
  ['one<br>two<br/>three<hr>four', 100, 'one two three four'],
  ['in<b>si</b>de <i>a</i><span>b</span>', 100, 'inside ab'],
  ['<table><tr><td>1</td><td>2</td></tr></table>', 100, '1 2'],
  ['  a \n\t b \u00a0 c ', 100, 'a b c'],
  // What is between these is no text.
  ['a<script>var b = "</p>";</script>c', 100, 'ac'],
  ['a<STYLE>p { }</Style >b', 100, 'ab'],
  ['<head><title>t</title><body>b', 100, 'b'],
  ['<head>h</head>b', 100, 'b'],
  ['a<img src="x" alt="y">b<embed>c<input value="v">d', 100, 'abcd'],
  ['a<svg><text>t</text><svg>u</svg>v</svg>b', 100, 'ab'],
  ['a<svg/>b', 100, 'ab'],
  ['a<object>x<object>y</object>z</object>b', 100, 'ab'],
  ['a<picture><source><img></picture>b', 100, 'ab'],
  ['a<form>x<form>y</form>b', 100, 'a b'],
  ['a<select><option>x<option>y</select>b', 100, 'ab'],
  ['a<option>x<option>y</option>b', 100, 'a b'],
  ['a<button>x</button><dialog>y</dialog><template>z</template><textarea><b></textarea>b', 100, 'a b'],
  ['a<iframe src=x>y</iframe><applet>z</applet>b', 100, 'ab'],
  ['a<script>never closed', 100, 'a'],
  ['a<!-- comment > --><!doctype html><?x y?>b', 100, 'ab'],
  ['1 < 2 &amp;&amp; 3 &gt; 2 &lt;b&gt; &eacute; &#x1F600; &zzz;', 100, '1 < 2 && 3 > 2 <b> é 😀 &zzz;'],
  ['a </nothing> b </p> c', 100, 'a b c'],
  ['a <b title="x > y">c</b> <', 100, 'a c <'],
  // Characters are code points.
  ['😀😀😀', 2, '😀😀...'],
  ['éa&#x1F600;b', 3, 'éa😀...'],
];

for (const [html, lengthMax, text] of excerpts) {
  test(`${lengthMax} characters of ${html} are "${text}"`, () => {
    assert.equal(excerpt(html, { lengthMax, hasEllipsis: true }), text);
    assert.equal(excerpt(html, { lengthMax, hasEllipsis: false }), text.replace(/\.\.\.$/, ''));
  });
}

const repeated: readonly string[] = [
  '<i>',
  '</b>',
  '<i></b>',
  '<svg>',
  '<!--',
  '<',
  '&',
  '&#',
  '&#x1',
  '&am',
  '<a b=',
  '<script>',
  '</script',
  ' ',
  '\u00a0',
  '<!',
  ']]>',
  '<option>',
  '&nbsp;',
];

test('no text takes more than a time in its length', () => {
  for (const part of repeated) {
    const measure = (length: number): number => {
      const html = part.repeat(Math.ceil(length / part.length));
      // Of this process: others may keep the machine busy.
      const before = process.cpuUsage();
      excerpt(html, { lengthMax: 1_000_000, hasEllipsis: true });
      return process.cpuUsage(before).user / 1_000;
    };
    measure(100_000);
    // A square would take a hundred times, and minutes.
    const [short, long] = [measure(100_000), measure(1_000_000)];
    assert.ok(long < 60 * (short + 20), `${part}: ${short} ms and then ${long} ms`);
  }
});

test('of a text that is too long for a list only the beginning is read, and the rest is cut', () => {
  const html = `a${'<i></i>'.repeat(300_000)}b`;
  assert.equal(excerpt(html, { lengthMax: 10, hasEllipsis: true }), 'a...');
});
