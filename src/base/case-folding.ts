/**
 * Simple case folding (Unicode 17, CaseFolding.txt, C and S): one letter for all forms of it that differ in case alone. Unlike lower case
 * it depends on no language and keeps the number of characters: `ſ` and `S` are `s`, `K` (Kelvin) is `k`, `ẞ` is `ß`; `İ` and `ı` stay.
 */

/** Returns the text with each character folded. Both engines get the folds from here, so that they find the same. */
export function foldCase(text: string): string {
  if (!beyondAscii.test(text)) return text.toLowerCase();
  let folded = '';
  for (const character of text) folded += folds().get(character) ?? character;
  return folded;
}

/** As {@link foldCase}, for a text as UTF-8. Bytes that are no UTF-8 stay. */
export function foldUtf8(text: Uint8Array): Uint8Array {
  // The longest step is from two bytes to three.
  const folded = new Uint8Array(text.length + (text.length >> 1) + 1);
  const short = shortFolds();
  let end = 0;
  for (let at = 0; at < text.length;) {
    const first = text[at] ?? 0;
    if (first < 0x80) {
      folded[end++] = first >= 0x41 && first <= 0x5a ? first | 0x20 : first;
      at += 1;
      continue;
    }
    const size = sizeOf(text, at, first);
    const code = size === 2 ? twoBytes(text, at) : size === 3 ? threeBytes(text, at) : first;
    const fold = size === 4 ? longFold(text, at) : size === 1 ? undefined : short[code];
    if (fold === undefined) for (let byte = 0; byte < size; byte += 1) folded[end++] = text[at + byte] ?? 0;
    else end = write(folded, end, fold);
    at += size;
  }
  return folded.subarray(0, end);
}

/** Returns all characters that fold to this folded one, itself first. */
export function formsOf(folded: string): readonly string[] {
  return [folded, ...(forms().get(folded) ?? [])];
}

/** All characters that fold to another, with their folded form. */
export function folds(): ReadonlyMap<string, string> {
  return (cached ??= readFolds());
}

/** Whether a text has characters of which a form beyond ASCII exists: `k`, `s` and all beyond ASCII. */
export function hasFormsBeyondAscii(text: string): boolean {
  return /[ks]|[^\0-\x7f]/i.test(text);
}

const beyondAscii = /[^\0-\x7f]/;

let cached: ReadonlyMap<string, string> | undefined;
let cachedForms: ReadonlyMap<string, readonly string[]> | undefined;
let cachedShort: Uint16Array | undefined;

function forms(): ReadonlyMap<string, readonly string[]> {
  if (cachedForms !== undefined) return cachedForms;
  const all = new Map<string, string[]>();
  for (const [from, to] of folds()) all.set(to, [...(all.get(to) ?? []), from]);
  return (cachedForms = all);
}

/** The folds of characters that UTF-8 writes with up to three bytes, by code point: 128 KiB, made on first use. */
function shortFolds(): Uint16Array {
  if (cachedShort !== undefined) return cachedShort;
  const all = Uint16Array.from({ length: 0x10000 }, (_, code) => code);
  for (const [from, to] of folds()) {
    const code = from.codePointAt(0) ?? 0;
    if (code < all.length) all[code] = to.codePointAt(0) ?? 0;
  }
  return (cachedShort = all);
}

/** Returns how many bytes the character has that begins here; 1 for a byte that begins none. */
function sizeOf(text: Uint8Array, at: number, first: number): 1 | 2 | 3 | 4 {
  const size = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
  for (let byte = 1; byte < size; byte += 1) if (((text[at + byte] ?? 0) & 0xc0) !== 0x80) return 1;
  return size;
}

function twoBytes(text: Uint8Array, at: number): number {
  return (((text[at] ?? 0) & 0x1f) << 6) | rest(text, at + 1);
}

function threeBytes(text: Uint8Array, at: number): number {
  return (((text[at] ?? 0) & 0x0f) << 12) | (rest(text, at + 1) << 6) | rest(text, at + 2);
}

function longFold(text: Uint8Array, at: number): number | undefined {
  const code =
    (((text[at] ?? 0) & 0x07) << 18) |
    (rest(text, at + 1) << 12) |
    (rest(text, at + 2) << 6) |
    rest(text, at + 3);
  return code > 0x10ffff ? undefined : folds().get(String.fromCodePoint(code))?.codePointAt(0);
}

function rest(text: Uint8Array, at: number): number {
  return (text[at] ?? 0) & 0x3f;
}

function write(bytes: Uint8Array, start: number, code: number): number {
  if (code < 0x80) {
    bytes[start] = code;
    return start + 1;
  }
  const size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  bytes[start] = (size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0) | (code >> (6 * (size - 1)));
  for (let byte = 1; byte < size; byte += 1)
    bytes[start + byte] = 0x80 | ((code >> (6 * (size - 1 - byte))) & 0x3f);
  return start + size;
}

function readFolds(): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const range of ranges.trim().split(/\s+/)) {
    const [, first = '', last = first, step = '1', sign, distance = ''] =
      /^(\w+)(?:-(\w+))?(?:\/(\d))?([+~])(\w+)$/.exec(range) ?? [];
    const offset = Number.parseInt(distance, 16) * (sign === '+' ? 1 : -1);
    for (let code = Number.parseInt(first, 16); code <= Number.parseInt(last, 16); code += Number(step))
      all.set(String.fromCodePoint(code), String.fromCodePoint(code + offset));
  }
  return all;
}

/** `41-5a+20`: the characters from U+0041 to U+005A fold to those 20 (hexadecimal) behind them; `/2` means every second, `~` before them. */
const ranges = `
  41-5a+20 b5+307 c0-d6+20 d8-de+20 100-12e/2+1 132-136/2+1 139-147/2+1 14a-176/2+1 178~79 179-17d/2+1
  17f~10c 181+d2 182-184/2+1 186+ce 187+1 189-18a+cd 18b+1 18e+4f 18f+ca 190+cb 191+1 193+cd 194+cf
  196+d3 197+d1 198+1 19c+d3 19d+d5 19f+d6 1a0-1a4/2+1 1a6+da 1a7+1 1a9+da 1ac+1 1ae+da 1af+1
  1b1-1b2+d9 1b3-1b5/2+1 1b7+db 1b8+1 1bc+1 1c4+2 1c5+1 1c7+2 1c8+1 1ca+2 1cb-1db/2+1 1de-1ee/2+1
  1f1+2 1f2-1f4/2+1 1f6~61 1f7~38 1f8-21e/2+1 220~82 222-232/2+1 23a+2a2b 23b+1 23d~a3 23e+2a28 241+1
  243~c3 244+45 245+47 246-24e/2+1 345+74 370-372/2+1 376+1 37f+74 386+26 388-38a+25 38c+40 38e-38f+3f
  391-3a1+20 3a3-3ab+20 3c2+1 3cf+8 3d0~1e 3d1~19 3d5~f 3d6~16 3d8-3ee/2+1 3f0~36 3f1~30 3f4~3c 3f5~40
  3f7+1 3f9~7 3fa+1 3fd-3ff~82 400-40f+50 410-42f+20 460-480/2+1 48a-4be/2+1 4c0+f 4c1-4cd/2+1
  4d0-52e/2+1 531-556+30 10a0-10c5+1c60 10c7+1c60 10cd+1c60 13f8-13fd~8 1c80~184e 1c81~184d 1c82~1844
  1c83-1c84~1842 1c85~1843 1c86~183c 1c87~1824 1c88+89c3 1c89+1 1c90-1cba~bc0 1cbd-1cbf~bc0
  1e00-1e94/2+1 1e9b~3a 1e9e~1dbf 1ea0-1efe/2+1 1f08-1f0f~8 1f18-1f1d~8 1f28-1f2f~8 1f38-1f3f~8
  1f48-1f4d~8 1f59-1f5f/2~8 1f68-1f6f~8 1f88-1f8f~8 1f98-1f9f~8 1fa8-1faf~8 1fb8-1fb9~8 1fba-1fbb~4a
  1fbc~9 1fbe~1c05 1fc8-1fcb~56 1fcc~9 1fd3~1c43 1fd8-1fd9~8 1fda-1fdb~64 1fe3~1c33 1fe8-1fe9~8
  1fea-1feb~70 1fec~7 1ff8-1ff9~80 1ffa-1ffb~7e 1ffc~9 2126~1d5d 212a~20bf 212b~2046 2132+1c
  2160-216f+10 2183+1 24b6-24cf+1a 2c00-2c2f+30 2c60+1 2c62~29f7 2c63~ee6 2c64~29e7 2c67-2c6b/2+1
  2c6d~2a1c 2c6e~29fd 2c6f~2a1f 2c70~2a1e 2c72+1 2c75+1 2c7e-2c7f~2a3f 2c80-2ce2/2+1 2ceb-2ced/2+1
  2cf2+1 a640-a66c/2+1 a680-a69a/2+1 a722-a72e/2+1 a732-a76e/2+1 a779-a77b/2+1 a77d~8a04 a77e-a786/2+1
  a78b+1 a78d~a528 a790-a792/2+1 a796-a7a8/2+1 a7aa~a544 a7ab~a54f a7ac~a54b a7ad~a541 a7ae~a544
  a7b0~a512 a7b1~a52a a7b2~a515 a7b3+3a0 a7b4-a7c2/2+1 a7c4~30 a7c5~a543 a7c6~8a38 a7c7-a7c9/2+1
  a7cb~a567 a7cc-a7da/2+1 a7dc~a641 a7f5+1 ab70-abbf~97d0 fb05+1 ff21-ff3a+20 10400-10427+28
  104b0-104d3+28 10570-1057a+27 1057c-1058a+27 1058c-10592+27 10594-10595+27 10c80-10cb2+40
  10d50-10d65+20 118a0-118bf+20 16e40-16e5f+20 16ea0-16eb8+1b 1e900-1e921+22
`;
