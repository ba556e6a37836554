import { existsSync, readFileSync } from 'node:fs';

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Counts the transactions in the write-ahead log of an SQLite file since its last reset: frames that end one carry the file's size
 * (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
 */
export function countCommits(file: string): number {
  if (!existsSync(`${file}-wal`)) return 0;
  const log = readFileSync(`${file}-wal`);
  if (log.length < headerBytes) return 0;
  const frameBytes = frameHeaderBytes + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let commits = 0;
  for (let at = headerBytes; at + frameBytes <= log.length; at += frameBytes) {
    // Frames of the log before its last reset have another salt.
    if (!log.subarray(at + 8, at + 16).equals(salt)) break;
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}
