/**
 * An index of a collection. Clients write it as the SQL text they know. It is parsed here, and the statement for the database is
 * built from the parts, so that no text of a client is ever run.
 */
export interface IndexDefinition {
  readonly name: string;
  readonly isUnique: boolean;
  readonly columns: readonly IndexColumn[];
  readonly where: readonly IndexCondition[];
}

export interface IndexColumn {
  readonly name: string;
  readonly isNocase: boolean;
  readonly isDescending: boolean;
}

export interface IndexCondition {
  readonly column: string;
  readonly operator: ConditionOperator;
  readonly value: string | number;
}

export type ConditionOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

const columnsMax = 16;

/** Parses an index text; undefined when it is not of the form above. */
export function parseIndex(text: string): IndexDefinition | undefined {
  const tokens = tokenize(text);
  if (tokens === undefined) return undefined;
  const reader = new TokenReader(tokens);
  try {
    return readIndex(reader);
  } catch (error) {
    if (error instanceof Unexpected) return undefined;
    throw error;
  }
}

/** Returns the index as text in its one normal form, with the collection's present name. */
export function indexToText(index: IndexDefinition, collectionName: string): string {
  const columns = index.columns.map(
    (column) =>
      `\`${column.name}\`${column.isNocase ? ' COLLATE NOCASE' : ''}${column.isDescending ? ' DESC' : ''}`,
  );
  const where = index.where.map(
    (condition) => `\`${condition.column}\` ${condition.operator} ${quoteValue(condition.value)}`,
  );
  const head = `CREATE ${index.isUnique ? 'UNIQUE ' : ''}INDEX \`${index.name}\` ON \`${collectionName}\``;
  return `${head} (${columns.join(', ')})${where.length > 0 ? ` WHERE ${where.join(' AND ')}` : ''}`;
}

/** Returns the index after its columns were renamed; undefined when one of them is gone. */
export function renameIndexColumns(
  index: IndexDefinition,
  newName: (column: string) => string | undefined,
): IndexDefinition | undefined {
  const columns: IndexColumn[] = [];
  for (const column of index.columns) {
    const name = newName(column.name);
    if (name === undefined) return undefined;
    columns.push({ ...column, name });
  }
  const where: IndexCondition[] = [];
  for (const condition of index.where) {
    const column = newName(condition.column);
    if (column === undefined) return undefined;
    where.push({ ...condition, column });
  }
  return { ...index, columns, where };
}

function quoteValue(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

type Token =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'name'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'sign'; readonly text: string };

const TOKEN =
  /\s+|(?<word>[A-Za-z_]\w*)|`(?<tick>\w*)`|"(?<quote>\w+)"|\[(?<bracket>\w+)\]|'(?<text>(?:[^']|'')*)'|(?<number>-?\d+(?:\.\d+)?)|(?<sign><=|>=|!=|<>|[=<>(),;])/y;

function tokenize(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) return undefined;
    const name = groups['tick'] ?? groups['quote'] ?? groups['bracket'];
    if (groups['word'] !== undefined) tokens.push({ kind: 'word', text: groups['word'] });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else if (groups['text'] !== undefined)
      tokens.push({ kind: 'text', text: groups['text'].replaceAll("''", "'") });
    else if (groups['number'] !== undefined) tokens.push({ kind: 'number', text: groups['number'] });
    else if (groups['sign'] !== undefined) tokens.push({ kind: 'sign', text: groups['sign'] });
  }
  return tokens;
}

/** Thrown by the readers below and caught by {@link parseIndex}; never leaves this file. */
class Unexpected extends Error {}

class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  /** Steps over a keyword or sign when it is the next token. */
  take(text: string): boolean {
    const token = this.#tokens[this.#at];
    const isIt =
      (token?.kind === 'word' && token.text.toUpperCase() === text) ||
      (token?.kind === 'sign' && token.text === text);
    if (isIt) this.#at += 1;
    return isIt;
  }

  expect(text: string): void {
    if (!this.take(text)) throw new Unexpected();
  }

  name(): string {
    const text = this.tableName();
    if (text === '') throw new Unexpected();
    return text;
  }

  /** It has no meaning, and is empty in the scaffold of a collection. */
  tableName(): string {
    const token = this.next();
    if (token.kind !== 'word' && token.kind !== 'name') throw new Unexpected();
    return token.text;
  }

  next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Unexpected();
    this.#at += 1;
    return token;
  }
}

function readIndex(reader: TokenReader): IndexDefinition {
  reader.expect('CREATE');
  const isUnique = reader.take('UNIQUE');
  reader.expect('INDEX');
  if (reader.take('IF')) {
    reader.expect('NOT');
    reader.expect('EXISTS');
  }
  const name = reader.name();
  reader.expect('ON');
  reader.tableName();
  reader.expect('(');
  const columns = [readColumn(reader)];
  while (reader.take(',')) columns.push(readColumn(reader));
  reader.expect(')');
  const where = reader.take('WHERE') ? readConditions(reader) : [];
  reader.take(';');
  if (!reader.isAtEnd || columns.length > columnsMax || where.length > columnsMax) throw new Unexpected();
  return { name, isUnique, columns, where };
}

function readColumn(reader: TokenReader): IndexColumn {
  const name = reader.name();
  let isNocase = false;
  if (reader.take('COLLATE')) {
    if (reader.take('NOCASE')) isNocase = true;
    else reader.expect('BINARY');
  }
  const isDescending = reader.take('DESC');
  if (!isDescending) reader.take('ASC');
  return { name, isNocase, isDescending };
}

/** Reads comparisons between AND, of which any may be in parentheses. */
function readConditions(reader: TokenReader): readonly IndexCondition[] {
  const conditions: IndexCondition[] = [];
  do {
    if (!reader.take('(')) {
      conditions.push(readCondition(reader));
      continue;
    }
    conditions.push(...readConditions(reader));
    reader.expect(')');
  } while (reader.take('AND'));
  return conditions;
}

function readCondition(reader: TokenReader): IndexCondition {
  const column = reader.name();
  const sign = reader.next().text;
  const operator = sign === '<>' ? '!=' : sign;
  if (!isOperator(operator)) throw new Unexpected();
  const value = reader.next();
  if (value.kind === 'text') return { column, operator, value: value.text };
  // A number that prints with an exponent is refused: it could not be parsed again when the instance is opened.
  const number = value.kind === 'number' ? Number(value.text) : Number.NaN;
  if (/^-?\d+(?:\.\d+)?$/.test(String(number))) return { column, operator, value: number };
  throw new Unexpected();
}

function isOperator(text: string): text is ConditionOperator {
  return ['=', '!=', '<', '<=', '>', '>='].includes(text);
}

/** Whether the index makes all values of this field unique, except perhaps the empty one. */
export function isIdentityIndex({ isUnique, columns, where }: IndexDefinition, fieldName: string): boolean {
  if (!isUnique || columns.length !== 1 || columns[0]?.name !== fieldName) return false;
  return where.every(
    ({ column, operator, value }) => column === fieldName && operator === '!=' && value === '',
  );
}
