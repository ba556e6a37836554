import { AppError } from '../../base/errors.ts';
import { BytesDigest } from '../../secrets/digest.ts';
import type { Labels } from '../../instances/instance-rows.ts';
import type { LockedKeys } from '../../secrets/locked-keys.ts';
import type { InlineKind } from '../../storage/database.ts';

/**
 * An archive is a zip file of one instance, of no engine in particular:
 *
 *   `tables/<table>.ndjson`        the internal tables, without the `$` of their names: events, endpoints, deliveries, secrets …
 *   `records/<collection>.ndjson`  the records of a collection, in the order of their positions
 *   `files/<collection id>/<record id>/<name>`
 *   `parts.ndjson`                 a line for each of those, with its digest
 *   `manifest.json`                what is in the archive, and the digest of `parts.ndjson`
 *
 * A row is a JSON object by columns; bytes are base64. Secrets stay sealed as they are stored. What opens them is not in the archive, unless
 * a passphrase was given (`key`). A template has neither records, files nor secrets: definitions and settings of instances to be.
 */
export const archiveFormat = 1;

export interface Manifest {
  readonly format: number;
  /** The version of Chancery that made it. */
  readonly version: string;
  /** The steps of the schema of an instance that the rows have. */
  readonly layout: string;
  /** The moment that it shows. */
  readonly created: string;
  /** Whether it is a template. */
  readonly template?: boolean;
  readonly instance: {
    readonly id: string;
    readonly shownId: string;
    readonly slug: string;
    readonly host: string | null;
    readonly created: string;
    readonly labels: Labels;
  };
  readonly key: ArchivedKey;
  readonly counts: ArchiveCounts;
  /** SHA-256 of `parts.ndjson`, in hex. */
  readonly parts: string;
  /** Proves that the service with this master key made the archive: over the members before it. */
  readonly mac: string;
}

/** Returns what `mac` is computed over. */
export function signedText(manifest: Manifest): string {
  const { mac: _, ...members } = manifest;
  return JSON.stringify(members);
}

export interface ArchiveCounts {
  readonly collections: number;
  readonly records: number;
  readonly events: number;
  readonly files: number;
  /** Of the content of all parts. */
  readonly bytes: number;
}

/**
 * What opens the sealed values: keys that the master key with this check value opens, or from which they are derived where `sealed` is empty;
 * or keys that a passphrase opens; or none, of a template.
 */
export type ArchivedKey =
  | { readonly kind: 'master'; readonly check: string; readonly sealed: string }
  | ({ readonly kind: 'passphrase' } & LockedKeys)
  | { readonly kind: 'none'; readonly sealed: '' };

interface PartBase {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the content, in hex. */
  readonly sha256: string;
}

export interface ArchivedRows extends PartBase {
  readonly kind: 'table' | 'records';
  /** The name of the internal table, or of the collection. */
  readonly table: string;
  readonly columns: readonly (readonly [name: string, kind: InlineKind])[];
  readonly rows: number;
  /** The last position that was ever used, also of rows that are gone; null where that is not known. */
  readonly last: number | null;
}

export interface ArchivedFile extends PartBase {
  readonly kind: 'file';
  /** The key of the file in the store. */
  readonly key: string;
  /** When it was stored, in milliseconds since 1970: a part of its ETag. */
  readonly modified: number;
}

export type Part = ArchivedRows | ArchivedFile;

export const partsName = 'parts.ndjson';
export const manifestName = 'manifest.json';

export function tablePart(table: string): string {
  return `tables/${table.replace(/^\$/, '')}.ndjson`;
}

export function recordsPart(collection: string): string {
  return `records/${collection}.ndjson`;
}

export function filePart(key: string): string {
  return `files/${key}`;
}

/** The name of a part, which never leads out of a folder. */
export function isPartName(name: string): boolean {
  const parts = name.split('/');
  return (
    /^(?:tables|records|files)\//.test(name) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/.test(part))
  );
}

/** Notes the size and the digest of a content that passes through. */
export class ContentDigest {
  readonly #digest = new BytesDigest();
  bytes = 0;

  note(piece: Uint8Array): void {
    this.#digest.add(piece);
    this.bytes += piece.length;
  }

  /** Returns the SHA-256 of all pieces in hex, as other tools print it; none can be noted any more. */
  end(): string {
    return Buffer.from(this.#digest.end(), 'base64url').toString('hex');
  }
}

/** An archive that cannot be used, for this reason. */
export function refusedArchive(reason: string, cause?: unknown): AppError {
  return new AppError('bad_request', `The archive cannot be used: ${reason}`, { cause });
}
