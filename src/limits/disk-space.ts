import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../base/process.ts';

/** A part of a disk: so many percent of it, at most so many bytes. */
export interface DiskPart {
  readonly percent: number;
  readonly bytesMax: number;
}

/** A disk, by a folder on it, and what of instances it holds. */
export interface Disk {
  readonly folder: string;
  readonly holds: 'data' | 'files' | 'all';
}

/** What a look has found. */
export interface DiskState extends Disk {
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly reserveBytes: number;
  /** Whether less is free than is reserved. */
  readonly isLow: boolean;
}

export type SpaceReader = (folder: string) => Promise<Pick<DiskState, 'totalBytes' | 'freeBytes'>>;

export interface DiskFolders {
  /** Where instances keep their data; undefined where a database has it, whose disk is not ours to see. */
  readonly data: string | undefined;
  readonly files: string;
  /** How much is reserved for instances that use less than their share. */
  readonly reserve: DiskPart;
  /** Tests replace it. */
  readonly readSpace?: SpaceReader | undefined;
}

/** A disk is low until so much more is free than is reserved: at the limit, it would be low and well in turns. */
const recoveredShare = 1.25;

/** The disks of the service, as they were at the last look. */
export class DiskSpace {
  readonly #folders: DiskFolders;
  #disks: readonly Disk[] | undefined;
  #states: readonly DiskState[] = [];

  constructor(folders: DiskFolders) {
    this.#folders = folders;
  }

  get states(): readonly DiskState[] {
    return this.#states;
  }

  /** Measures the free space. Returns the disks that have become low, or well again, since the last look. */
  async look(): Promise<readonly DiskState[]> {
    this.#disks ??= await disksOf(this.#folders);
    const before = new Map(this.#states.map(({ folder, isLow }) => [folder, isLow]));
    const states: DiskState[] = [];
    for (const disk of this.#disks) {
      const { reserve, readSpace = ofFileSystem } = this.#folders;
      const space = await ofNearest(disk.folder, readSpace);
      const reserveBytes = Math.min(reserve.bytesMax, (space.totalBytes * reserve.percent) / 100);
      const isLow = isDiskLow({ ...space, reserveBytes, wasLow: before.get(disk.folder) === true });
      states.push({ ...disk, ...space, reserveBytes, isLow });
    }
    this.#states = states;
    return states.filter(({ folder, isLow }) => isLow !== (before.get(folder) ?? false));
  }
}

/** By what is free for programs that are not of the system. */
async function ofFileSystem(folder: string): ReturnType<SpaceReader> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
}

function isDiskLow({
  freeBytes,
  reserveBytes,
  wasLow,
}: Pick<DiskState, 'freeBytes' | 'reserveBytes'> & { readonly wasLow: boolean }): boolean {
  return freeBytes < (wasLow ? reserveBytes * recoveredShare : reserveBytes);
}

async function disksOf({ data, files }: DiskFolders): Promise<readonly Disk[]> {
  if (data === undefined) return [{ folder: files, holds: 'files' }];
  const deviceOf = async (folder: string): Promise<number> => (await stat(folder)).dev;
  const [ofData, ofFiles] = [await ofNearest(data, deviceOf), await ofNearest(files, deviceOf)];
  if (ofData === ofFiles) return [{ folder: data, holds: 'all' }];
  return [
    { folder: data, holds: 'data' },
    { folder: files, holds: 'files' },
  ];
}

/** Of a folder that is not there yet, the first one above that is. */
async function ofNearest<Result>(folder: string, read: (folder: string) => Promise<Result>): Promise<Result> {
  try {
    return await read(folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    return ofNearest(dirname(folder), read);
  }
}
