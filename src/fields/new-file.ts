/** A file that came with a request. In a body it stands beside the names of files that a record has already. */
export abstract class NewFile {
  /** Under which it is stored. */
  readonly name: string;
  /** As its client called it. */
  readonly originalName: string;
  /** Bytes. */
  readonly size: number;

  constructor({ name, originalName, size }: Pick<NewFile, 'name' | 'originalName' | 'size'>) {
    this.name = name;
    this.originalName = originalName;
    this.size = size;
  }

  /** Whether its bytes are of this media type, which may be called by another of its names. */
  abstract isOfType(type: string): boolean;
}

/** Returns the new files in a client's value of a field: one, or several beside names. */
export function newFilesIn(value: unknown): readonly NewFile[] {
  if (value instanceof NewFile) return [value];
  return Array.isArray(value) ? value.filter((item) => item instanceof NewFile) : [];
}

/** Returns the value with the names of new files in their places. */
export function withFileNames(value: unknown): unknown {
  if (value instanceof NewFile) return value.name;
  if (!Array.isArray(value)) return value;
  const items: readonly unknown[] = value;
  return items.map((item) => (item instanceof NewFile ? item.name : item));
}
