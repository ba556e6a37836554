/**
 * Finds the media type of a file in its first bytes. The type that a client sends is never trusted, and the name of a file only decides what
 * bytes cannot: whether a text is a stylesheet or a table, and what an archive or a document of a family holds.
 */

/** So many bytes of a file suffice: some formats have their mark behind a long header. */
export const headBytesMax = 4_100;

const unknownType = 'application/octet-stream';
const plainText = 'text/plain';

/** Returns the type of a file, without parameters, of which `head` has the first {@link headBytesMax} bytes or all. */
export async function detectType(head: Uint8Array, name: string): Promise<string> {
  const bytes = head.subarray(0, headBytesMax);
  const extension = /\.([a-z0-9]+)$/.exec(name.toLowerCase())?.[1] ?? '';
  // Loaded by the first file: most processes of a command line never see one.
  const { fileTypeFromBuffer } = await import('file-type');
  const mime = (await fileTypeFromBuffer(bytes))?.mime;
  if (mime !== undefined && mime !== 'application/xml') return families[mime]?.[extension] ?? mime;
  const text = decodeText(bytes);
  return text === undefined ? (mime ?? unknownType) : typeOfText(text, extension);
}

/** Whether a type that was found is the wanted one, which may be called by another of its names. */
export function isMediaType(type: string, expected: string): boolean {
  const name = expected.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return canonical(type) === canonical(name);
}

function canonical(type: string): string {
  return aliases[type] ?? type;
}

/** What may stand before the first element. Each can end in one place only: otherwise many of them would be tried in every combination. */
const comment = '<!--(?:(?!-->).)*-->';
const declaration = '<\\?xml(?:(?!\\?>).)*\\?>';
/** A browser would display such a text as a page, whatever the name of its file. */
const pageStart = new RegExp(
  `^(?:${comment}|\\s)*<(?:!doctype html|html|head|body|script|iframe)[\\s/>]`,
  'is',
);
const imageStart = new RegExp(
  `^(?:${declaration}|${comment}|<!doctype svg[^>]*>|\\s)*<(?:\\w+:)?svg[\\s/>]`,
  'is',
);
const xmlStart = /^\s*<\?xml\s/i;

function typeOfText(text: string, extension: string): string {
  const byName = textTypes[extension];
  if (imageStart.test(text)) return 'image/svg+xml';
  if (pageStart.test(text)) return byName === 'application/xhtml+xml' ? byName : 'text/html';
  if (xmlStart.test(text)) return byName?.endsWith('xml') === true ? byName : 'application/xml';
  return byName ?? plainText;
}

/** Returns undefined for bytes that are not UTF-8, or that no text has. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    // `stream` lets the last character be cut where the bytes are only the beginning.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, {
      stream: bytes.length >= headBytesMax,
    });
    // The bytes by which browsers recognize binary data.
    // oxlint-disable-next-line no-control-regex
    return /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Types of texts by the extension of their file's name. */
const textTypes: Readonly<Record<string, string>> = {
  atom: 'application/atom+xml',
  cjs: 'text/javascript',
  css: 'text/css',
  csv: 'text/csv',
  geojson: 'application/geo+json',
  gpx: 'application/gpx+xml',
  htm: 'text/html',
  html: 'text/html',
  ics: 'text/calendar',
  js: 'text/javascript',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  kml: 'application/vnd.google-earth.kml+xml',
  markdown: 'text/markdown',
  md: 'text/markdown',
  mjs: 'text/javascript',
  ndjson: 'application/x-ndjson',
  rss: 'application/rss+xml',
  svg: 'image/svg+xml',
  toml: 'application/toml',
  tsv: 'text/tab-separated-values',
  vcf: 'text/vcard',
  vtt: 'text/vtt',
  webmanifest: 'application/manifest+json',
  xht: 'application/xhtml+xml',
  xhtml: 'application/xhtml+xml',
  xml: 'application/xml',
  xsl: 'application/xslt+xml',
  xslt: 'application/xslt+xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

/** Families of formats that share their first bytes. Browsers display none of their members, so the name may decide between them. */
const families: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'application/x-cfb': {
    doc: 'application/msword',
    msg: 'application/vnd.ms-outlook',
    msi: 'application/x-ms-installer',
    ppt: 'application/vnd.ms-powerpoint',
    xls: 'application/vnd.ms-excel',
  },
  'application/zip': {
    apk: 'application/vnd.android.package-archive',
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    epub: 'application/epub+zip',
    jar: 'application/java-archive',
    odp: 'application/vnd.oasis.opendocument.presentation',
    ods: 'application/vnd.oasis.opendocument.spreadsheet',
    odt: 'application/vnd.oasis.opendocument.text',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  },
};

/** Other names of types, which the fields of a definition may have from another product. */
const aliases: Readonly<Record<string, string>> = {
  'application/javascript': 'text/javascript',
  'application/rtf': 'text/rtf',
  'application/vnd.rar': 'application/x-rar-compressed',
  'application/x-gzip': 'application/gzip',
  'application/x-javascript': 'text/javascript',
  'application/x-pdf': 'application/pdf',
  'application/x-yaml': 'application/yaml',
  'application/x-zip': 'application/zip',
  'application/x-zip-compressed': 'application/zip',
  'audio/mp3': 'audio/mpeg',
  'audio/mp4': 'audio/x-m4a',
  'audio/wave': 'audio/wav',
  'audio/x-flac': 'audio/flac',
  'audio/x-mpeg': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'image/jpg': 'image/jpeg',
  'image/vnd.microsoft.icon': 'image/x-icon',
  'image/x-ms-bmp': 'image/bmp',
  'image/x-png': 'image/png',
  'text/json': 'application/json',
  'text/xml': 'application/xml',
  'video/avi': 'video/vnd.avi',
  'video/matroska': 'video/x-matroska',
  'video/msvideo': 'video/vnd.avi',
  'video/x-m4v': 'video/mp4',
  'video/x-msvideo': 'video/vnd.avi',
};
