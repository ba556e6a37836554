/** The state of a JSON reader: the brackets still to be closed, and what may come next. */
interface Reader {
  readonly text: string;
  readonly closers: ('}' | ']')[];
  expected: Expected;
  at: number;
}

type Expected =
  'a value' | "a value or ']'" | 'a key' | "a key or '}'" | "':'" | "',' or '}'" | "',' or ']'" | 'the end';

/** How far a text is searched: reading one token after the other takes far longer than JSON.parse. */
const searchedMax = 250_000;

const WORD = /[A-Za-z0-9+.-]/;
const HEX = /^[0-9a-fA-F]{4}$/;

/**
 * Returns where a text that JSON.parse refused stops being JSON, and what was expected there. The engine's own messages name a
 * position only sometimes, and quote the text.
 */
export function findJsonError(text: string): string {
  const reader: Reader = { text, closers: [], expected: 'a value', at: 0 };
  for (;;) {
    reader.at = skipSpace(text, reader.at);
    if (reader.at > searchedMax) return `the first ${searchedMax} characters are`;
    const fault = step(reader);
    if (fault !== undefined) return fault;
  }
}

/** Reads one token; returns the fault, or undefined if there is none. */
function step(reader: Reader): string | undefined {
  const { text, expected, at } = reader;
  const character = text[at];
  if (character === undefined) {
    return expected === 'the end'
      ? 'nothing is wrong'
      : `it ends at position ${at}, where ${expected} was expected`;
  }
  if (expected.startsWith('a value') && character !== ']') return readValue(reader, character);
  if (expected.startsWith('a key') && character === '"') {
    reader.expected = "':'";
    return readString(reader);
  }
  const isClosing = character === reader.closers.at(-1) && expected.includes(`'${character}'`);
  if (isClosing) {
    reader.closers.pop();
    reader.expected = afterValue(reader);
  } else if (character === ':' && expected === "':'") {
    reader.expected = 'a value';
  } else if (character === ',' && expected.startsWith("','")) {
    reader.expected = reader.closers.at(-1) === '}' ? 'a key' : 'a value';
  } else {
    return `${expected} was expected at position ${at}`;
  }
  reader.at++;
  return undefined;
}

function readValue(reader: Reader, character: string): string | undefined {
  if (character === '{' || character === '[') {
    reader.closers.push(character === '{' ? '}' : ']');
    reader.expected = character === '{' ? "a key or '}'" : "a value or ']'";
    reader.at++;
    return undefined;
  }
  reader.expected = afterValue(reader);
  return character === '"' ? readString(reader) : readWord(reader);
}

function afterValue(reader: Reader): Expected {
  const closer = reader.closers.at(-1);
  if (closer === undefined) return 'the end';
  return closer === '}' ? "',' or '}'" : "',' or ']'";
}

function readString(reader: Reader): string | undefined {
  const { text } = reader;
  for (let at = reader.at + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20) return `a control character stands in a string at position ${at}`;
    if (code === 0x22) {
      reader.at = at + 1;
      return undefined;
    }
    if (code !== 0x5c) continue;
    const escaped = text.charAt(++at);
    const isEscape = escaped === 'u' ? HEX.test(text.slice(at + 1, at + 5)) : '"\\/bfnrt'.includes(escaped);
    if (!isEscape) return `an unknown escape stands in a string at position ${at - 1}`;
  }
  return `the string that begins at position ${reader.at} is not closed`;
}

/** Reads `true`, `false`, `null` or a number. */
function readWord(reader: Reader): string | undefined {
  const start = reader.at;
  let at = start;
  while (WORD.test(reader.text.charAt(at))) at++;
  reader.at = at;
  try {
    JSON.parse(reader.text.slice(start, at));
    return undefined;
  } catch {
    return at === start
      ? `a value was expected at position ${start}`
      : `an unknown word or number at position ${start}`;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (' \t\r\n'.includes(text[at] ?? 'x')) at++;
  return at;
}
