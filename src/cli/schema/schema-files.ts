import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../base/ids.ts';
import { isJsonObject, type JsonObject, withoutByteOrderMark } from '../../base/json.ts';
import { codeOf } from '../../base/process.ts';
import { tokenKinds } from '../../collections/collection.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { jsonText } from '../terminal/show.ts';

/** A definition in a file of the user's repository. */
export interface SchemaFile {
  /** Its name within the folder. */
  readonly file: string;
  readonly definition: JsonObject;
}

/** What a dump has done with a file. `foreign`: its collection is not on the service. */
export interface DumpedFile {
  readonly file: string;
  readonly state: 'written' | 'unchanged' | 'removed' | 'foreign';
}

/**
 * Reads the definitions of a folder, a file for each, in the order of their names. Throws CommandError for a file that is none, or that
 * holds a secret: whoever reads the repository could sign tokens with it.
 */
export async function readSchema(folder: string): Promise<readonly SchemaFile[]> {
  const files = await readFiles(folder);
  if (files.length === 0)
    throw new CommandError(
      exitCodes.refused,
      `There are no definitions in ${folder}: chancery schema dump writes them.`,
    );
  for (const { file, definition } of files) {
    if (typeof definition['name'] !== 'string')
      throw new CommandError(exitCodes.refused, `${join(folder, file)} is no definition: it has no name.`);
    const secret = tokenKinds.find((kind) => {
      const options = definition[kind];
      return isJsonObject(options) && options['secret'] !== undefined;
    });
    if (secret !== undefined)
      throw new CommandError(
        exitCodes.refused,
        `${join(folder, file)} has ${secret}.secret: secrets do not belong into files of definitions.`,
      );
  }
  return files;
}

async function readFiles(folder: string): Promise<readonly SchemaFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(
    names.map(async (file) => ({ file, definition: await readDefinition(join(folder, file)) })),
  );
}

async function readDefinition(path: string): Promise<JsonObject> {
  const text = await readFile(path, 'utf8');
  try {
    const json: unknown = JSON.parse(withoutByteOrderMark(text));
    if (isJsonObject(json)) return json;
  } catch {
    // Said below.
  }
  throw new CommandError(exitCodes.refused, `${path} is not a JSON object.`);
}

/**
 * Makes the files of a folder what the service has. A file that has had a collection under another name goes; one whose collection the
 * service does not have stays, unless `isPruning`: it may be yet to be applied.
 */
export async function writeSchema(
  folder: string,
  collections: readonly JsonObject[],
  { all, isPruning }: { readonly all: readonly JsonObject[]; readonly isPruning: boolean },
): Promise<readonly DumpedFile[]> {
  await mkdir(folder, { recursive: true });
  const before = await readFiles(folder);
  const dumped: DumpedFile[] = [];
  for (const collection of collections) {
    const file = fileNameOf(collection);
    const isChanged = await replaceFile(join(folder, file), `${jsonText(fileForm(collection), 2)}\n`);
    dumped.push({ file, state: isChanged ? 'written' : 'unchanged' });
  }
  const written = new Set(dumped.map(({ file }) => file.toLowerCase()));
  const names = new Map(all.map(({ id, name }) => [id, name]));
  const dumpedIds = new Set(collections.map(({ id }) => id));
  for (const { file, definition } of before) {
    const { id, name } = definition;
    if (written.has(file.toLowerCase())) continue;
    const isRenamed = dumpedIds.has(id);
    const isForeign = id === undefined ? ![...names.values()].includes(name) : !names.has(id);
    if (!isRenamed && !isForeign) continue;
    if (isRenamed || isPruning) await rm(join(folder, file));
    dumped.push({ file, state: isRenamed || isPruning ? 'removed' : 'foreign' });
  }
  return dumped.toSorted((one, other) => (one.file < other.file ? -1 : 1));
}

/** Throws CommandError for a name with which a service would write outside of the folder. */
function fileNameOf({ name }: JsonObject): string {
  if (typeof name === 'string' && /^\w+$/.test(name)) return `${name}.json`;
  throw new CommandError(exitCodes.refused, `${JSON.stringify(name)} is no name of a collection.`);
}

/** Returns a definition as files have it: without what the service makes. The ids stay, so that a file can rename what it defines. */
function fileForm({ id, name, type, ...rest }: JsonObject): JsonObject {
  const members = Object.entries(rest).filter(
    ([member, value]) =>
      member !== 'created' && member !== 'updated' && (member !== 'system' || value === true),
  );
  return { id, name, type, ...Object.fromEntries(members) };
}

/** Gives a file another text, all at once. Resolves to false where it had it. */
export async function replaceFile(path: string, text: string): Promise<boolean> {
  const before = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (before === text) return false;
  const part = `${path}.${newId()}.part`;
  try {
    await writeFile(part, text, { flag: 'wx' });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return true;
}
