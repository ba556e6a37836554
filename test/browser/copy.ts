/**
 * Writes every text of the interface into test/browser/pictures/copy.txt, by file and line, to be read against the rules for words. The texts come
 * from the source, so that no state of a screen is missed: what elements hold, and every text with a blank or a capital in the code.
 */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = fileURLToPath(new URL('pictures', import.meta.url));

/** Attributes whose values nobody reads. */
const unread = /^(?:className|id|type|to|key|name|role|tone|tabIndex|viewBox|d|points|data-.*|autoComplete)$/;
const sentence = /[A-Za-z]{2,}.*[ ’…]|^[A-Z][a-z]+$/;

interface Text {
  readonly start: number;
  readonly text: string;
}

/** The texts of a file in their order; what is put into a text stands as `{…}`. */
function textsOf(file: string, source: string): readonly Text[] {
  const texts: Text[] = [];
  const skipped: { readonly start: number; readonly end: number }[] = [];
  const add = (start: number, raw: string): void => {
    const text = raw.replaceAll(/\s+/g, ' ').trim();
    if (text !== '' && !skipped.some((part) => part.start <= start && start < part.end))
      texts.push({ start, text });
  };
  new Visitor({
    ImportDeclaration: (node) => void skipped.push(node),
    TSLiteralType: (node) => void skipped.push(node),
    JSXAttribute: (node) => {
      if (node.name.type === 'JSXIdentifier' && unread.test(node.name.name)) skipped.push(node);
    },
    JSXText: ({ start, value }) => add(start, value),
    Literal: ({ start, value }) => {
      if (typeof value === 'string' && sentence.test(value)) add(start, value);
    },
    TemplateLiteral: ({ start, quasis }) => {
      const text = quasis.map(({ value }) => value.cooked ?? '').join('{…}');
      if (sentence.test(text)) add(start, text);
    },
  }).visit(parseSync(file, source).program);
  return texts.toSorted((one, other) => one.start - other.start);
}

test('every text of the interface is written into one file', (t) => {
  const lines: string[] = [];
  for (const file of globSync('dashboard/src/{app,parts,screens,api}/**/*.{ts,tsx}', {
    cwd: root,
  }).toSorted()) {
    const source = readFileSync(`${root}/${file}`, 'utf8');
    const texts = file.endsWith('api/schema.ts') ? [] : textsOf(file, source);
    if (texts.length > 0) lines.push('', file);
    for (const { start, text } of texts) lines.push(`${source.slice(0, start).split('\n').length}: ${text}`);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/copy.txt`, `${lines.join('\n')}\n`);
  t.diagnostic(`${lines.length} lines in test/browser/pictures/copy.txt`);
  const all = lines.join('\n');
  for (const text of ['Confirm password', 'No results for “', 'The service can’t be reached.'])
    assert.ok(all.includes(text), text);
});
