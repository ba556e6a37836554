/**
 * Reads the text of a SELECT as far as a view has to know it: where comments are, that it is one statement without parameters, and
 * what its columns are made of. Whether it is valid, and what it may read, only an engine can tell.
 */

export interface SelectText {
  /** Without comments, and without the semicolon at its end. */
  readonly text: string;
  /** What each column is made of, in order; undefined where that cannot be told, as with `*`. */
  readonly columns: readonly SelectColumn[] | undefined;
  /** The words of the text in lower case, those in double quotes included: whatever it names is among them. */
  readonly words: ReadonlySet<string>;
  /** Whether it joins the rows of several SELECTs, whose columns have no common origin. */
  readonly isCompound: boolean;
}

/** `column` is a name and nothing else; the others are casts and functions whose type is known. */
export type SelectColumn = 'column' | 'text' | 'number' | 'integer' | 'bool' | 'other';

interface Token {
  readonly kind: 'word' | 'quoted' | 'string' | 'number' | 'sign';
  /** Of a word in lower case; of a quoted name without its quotes. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Returns the problem where the text is not one statement, as a sentence without its full stop. */
export function readSelect(source: string): SelectText | string {
  const tokens = tokensOf(source);
  if (typeof tokens === 'string') return tokens;
  while (isSign(tokens.at(-1), ';')) tokens.pop();
  if (tokens.length === 0) return 'a view needs a SELECT';
  for (const [index, token] of tokens.entries()) {
    if (isSign(token, ';')) return 'multiple statements are not supported';
    if (isSign(token, '?') || isSign(token, '$')) return 'parameters are not supported';
    const next = tokens[index + 1];
    if (token.text === 'e' && next?.kind === 'string' && next.start === token.end)
      return "texts with the prefix E are not supported: double a quote to write it, as in 'it''s'";
  }
  for (const { kind, text } of tokens)
    if (kind === 'quoted' && !/^[\w ]+$/.test(text))
      return `names can have letters, digits and underscores only, unlike ${JSON.stringify(text)}`;
  const names = tokens.filter(({ kind }) => kind === 'word' || kind === 'quoted');
  const items = selectItems(tokens);
  if (items?.some(isWildcard) === true)
    return 'wildcard columns (*) are not supported - manually type the collection field names you want the view query to have';
  return {
    text: tokens.map((token, index) => withGap(source, token, tokens[index - 1])).join(''),
    columns: items?.map((item) => typeOf(withoutAlias(item))),
    words: new Set(names.map(({ text }) => text.toLowerCase())),
    isCompound: tokens.some(({ kind, text }) => kind === 'word' && setOperators.has(text)),
  };
}

const setOperators: ReadonlySet<string> = new Set(['union', 'intersect', 'except']);

/** What may stand behind the columns of a SELECT. */
const clauses: ReadonlySet<string> = new Set([
  ...setOperators,
  'from',
  'where',
  'group',
  'having',
  'window',
  'order',
  'limit',
  'offset',
  'fetch',
]);

/** A comment becomes a blank, as any gap does. */
function withGap(source: string, { start, end }: Token, before: Token | undefined): string {
  const gap = before !== undefined && before.end < start ? ' ' : '';
  return gap + source.slice(start, end);
}

const tokenForms =
  /(?<gap>\s+|--[^\n]*|\/\*[^]*?\*\/)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<quoted>"(?:[^"]|"")*"|`\w*`)|(?<string>'(?:[^']|'')*')|(?<number>\d[\w.]*|\.\d\w*)|(?<sign>[^])/uy;

function tokensOf(source: string): Token[] | string {
  const tokens: Token[] = [];
  tokenForms.lastIndex = 0;
  for (;;) {
    const start = tokenForms.lastIndex;
    if (start >= source.length) return tokens;
    const groups = tokenForms.exec(source)?.groups ?? {};
    const end = tokenForms.lastIndex;
    const { word, quoted, string, number, sign = '' } = groups;
    if (groups['gap'] !== undefined) continue;
    if (word !== undefined) tokens.push({ kind: 'word', text: word.toLowerCase(), start, end });
    else if (quoted !== undefined) tokens.push({ kind: 'quoted', text: quoted.slice(1, -1), start, end });
    else if (string !== undefined) tokens.push({ kind: 'string', text: string, start, end });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, start, end });
    else if (sign === '\u0000') return 'the text has a NUL character';
    else if (`'"\``.includes(sign)) return 'a quote is not closed';
    else if (sign === '/' && source[end] === '*') return 'a comment is not closed';
    else tokens.push({ kind: 'sign', text: sign, start, end });
  }
}

function isSign(token: Token | undefined, sign: string): boolean {
  return token?.kind === 'sign' && token.text === sign;
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text === word;
}

/** Returns the tokens of each column of the outermost SELECT, the first one of a compound. */
function selectItems(tokens: readonly Token[]): readonly (readonly Token[])[] | undefined {
  const depths = depthsOf(tokens);
  const select = tokens.findIndex((token, index) => depths[index] === 0 && isWord(token, 'select'));
  if (select === -1) return undefined;
  const items: Token[][] = [[]];
  for (let index = select + 1; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined) break;
    const isOutside = depths[index] === 0;
    if (isOutside && token.kind === 'word' && clauses.has(token.text)) break;
    if (index === select + 1 && (isWord(token, 'distinct') || isWord(token, 'all'))) continue;
    if (isOutside && isSign(token, ',')) items.push([]);
    else items.at(-1)?.push(token);
  }
  return items;
}

/** How many parentheses are open at each token. */
function depthsOf(tokens: readonly Token[]): readonly number[] {
  let depth = 0;
  return tokens.map((token) => {
    if (isSign(token, ')')) depth -= 1;
    const here = depth;
    if (isSign(token, '(')) depth += 1;
    return here;
  });
}

function isWildcard(item: readonly Token[]): boolean {
  return isSign(item.at(-1), '*') && (item.length === 1 || isSign(item.at(-2), '.'));
}

function withoutAlias(item: readonly Token[]): readonly Token[] {
  const [before, last] = item.slice(-2);
  if (last === undefined || before === undefined || (last.kind !== 'word' && last.kind !== 'quoted'))
    return item;
  if (isWord(before, 'as')) return item.slice(0, -2);
  // Behind anything that ends a value, a name is an alias.
  return before.kind !== 'sign' || before.text === ')' ? item.slice(0, -1) : item;
}

function typeOf(item: readonly Token[]): SelectColumn {
  const isName = item.every(({ kind, text }, index) =>
    index % 2 === 0 ? kind === 'word' || kind === 'quoted' : kind === 'sign' && text === '.',
  );
  if (isName && item.length % 2 === 1) return 'column';
  const [first, open] = item;
  const cast = item.findLastIndex(
    (token, index) => isSign(token, ':') && isSign(item[index + 1], ':') && depthsOf(item)[index] === 0,
  );
  if (cast > 0) return castTypes.get(nameOf(item.slice(cast + 2))) ?? 'other';
  if (first?.kind !== 'word' || !isSign(open, '(') || !isOneCall(item)) return 'other';
  if (first.text === 'count') return 'integer';
  if (first.text === 'total') return 'number';
  if (first.text !== 'cast') return 'other';
  const as = item.findLastIndex((token, index) => depthsOf(item)[index] === 1 && isWord(token, 'as'));
  return castTypes.get(nameOf(item.slice(as + 1, -1))) ?? 'other';
}

/** Whether the parenthesis that is opened first is closed at the end. */
function isOneCall(item: readonly Token[]): boolean {
  const depths = depthsOf(item);
  return item.findIndex((token, index) => depths[index] === 0 && isSign(token, ')')) === item.length - 1;
}

/** The name of a type without its length: `varchar(20)` is `varchar`. */
function nameOf(tokens: readonly Token[]): string {
  const end = tokens.findIndex((token) => isSign(token, '('));
  return tokens
    .slice(0, end === -1 ? tokens.length : end)
    .map(({ text }) => text)
    .join(' ');
}

const castTypes: ReadonlyMap<string, SelectColumn> = new Map([
  ['text', 'text'],
  ['varchar', 'text'],
  ['int', 'integer'],
  ['integer', 'integer'],
  ['bigint', 'integer'],
  ['smallint', 'integer'],
  ['real', 'number'],
  ['decimal', 'number'],
  ['numeric', 'number'],
  ['float', 'number'],
  ['double precision', 'number'],
  ['bool', 'bool'],
  ['boolean', 'bool'],
]);
