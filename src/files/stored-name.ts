import { idAlphabet, randomText } from '../base/ids.ts';

const baseLengthMax = 100;
const baseLengthMin = 3;
const extensionLengthMax = 20;
const randomLength = 10;

/** Extensions of compressed files, which follow the extension of the content: `.tar.gz`. */
const compressed = new Set(['br', 'bz2', 'gz', 'lz', 'lz4', 'lzma', 'xz', 'z', 'zst']);

/**
 * Returns a new name for a file, which is unlike that of any other: its own name in snake case, 10 random characters, and its extension,
 * or the usual one of its type. Only ASCII letters in lower case, digits and `_` come through, and a dot before each of at most two
 * extensions: no name leads out of its folder, means anything to a system or a browser, or looks like another one.
 */
export function storedName(originalName: string, type: string): string {
  const own = originalName.slice(Math.max(originalName.lastIndexOf('/'), originalName.lastIndexOf('\\')) + 1);
  const { base, extension } = split(own);
  const snake = toSnakeCase(base).slice(0, baseLengthMax).replace(/_+$/, '');
  const start = snake.length < baseLengthMin ? snake + randomText(randomLength, idAlphabet) : snake;
  const end = extension === '' ? (extensions[type] ?? '') : extension;
  return `${start}_${randomText(randomLength, idAlphabet)}${end}`;
}

interface SplitName {
  readonly base: string;
  /** With its dot; empty for none. */
  readonly extension: string;
}

function split(name: string): SplitName {
  const whole = splitOnce(name);
  if (!compressed.has(whole.extension.slice(1))) return whole;
  const inner = splitOnce(whole.base);
  const extension = inner.extension + whole.extension;
  // A number there is a part of the name: `report.2024.gz`.
  const isPart = /^\.\d+$/.test(inner.extension) || extension.length > extensionLengthMax;
  return isPart ? whole : { base: inner.base, extension };
}

function splitOnce(name: string): SplitName {
  const at = name.lastIndexOf('.');
  const last =
    at === -1
      ? ''
      : name
          .slice(at + 1)
          .trim()
          .toLowerCase();
  const isExtension = /^[a-z0-9]+$/.test(last) && last.length < extensionLengthMax;
  return isExtension ? { base: name.slice(0, at), extension: `.${last}` } : { base: name, extension: '' };
}

/** `Photo of Me (2)` and `photoOfMe2` become `photo_of_me_2` and `photo_of_me2`. */
function toSnakeCase(text: string): string {
  return text
    .slice(0, 4 * baseLengthMax)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

/** The usual extensions of types, for files whose name has none. */
const extensions: Readonly<Record<string, string>> = {
  'application/gzip': '.gz',
  'application/json': '.json',
  'application/pdf': '.pdf',
  'application/xml': '.xml',
  'application/zip': '.zip',
  'audio/flac': '.flac',
  'audio/mpeg': '.mp3',
  'audio/ogg': '.ogg',
  'audio/wav': '.wav',
  'audio/x-m4a': '.m4a',
  'image/avif': '.avif',
  'image/bmp': '.bmp',
  'image/gif': '.gif',
  'image/heic': '.heic',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/svg+xml': '.svg',
  'image/tiff': '.tif',
  'image/webp': '.webp',
  'image/x-icon': '.ico',
  'text/html': '.html',
  'text/plain': '.txt',
  'video/mp4': '.mp4',
  'video/quicktime': '.mov',
  'video/webm': '.webm',
  'video/x-matroska': '.mkv',
};
