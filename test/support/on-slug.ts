import { type DataDirectory, onInstance } from '../../src/open-data-directory.ts';
import type { Instance } from '../../src/instances/instance.ts';

/** Runs `work` on an instance directly, without HTTP. */
export function onSlug<Result>(
  data: DataDirectory,
  slug: string,
  work: (instance: Instance) => Promise<Result>,
): Promise<Result> {
  const entry = data.directory.findBySlug(slug);
  if (entry === undefined) throw new Error(`There is no instance ${slug}.`);
  return onInstance(data, entry, work);
}
