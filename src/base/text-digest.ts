import { crc32 } from 'node:zlib';

const radix = 36;

/** `<length>.<CRC-32 of the text in UTF-8>`: tells apart the few texts that something may be, to whom nobody wishes ill. */
export function textDigest(text: string): string {
  return `${text.length.toString(radix)}.${crc32(text).toString(radix)}`;
}
