import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../base/ids.ts';
import { isJsonObject, ownMember } from '../../base/json.ts';
import { codeOf } from '../../base/process.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';

/** A service that the user has signed in to. */
export interface Profile {
  readonly url: string;
  readonly token: string;
}

/** A profile by its name. */
export interface NamedProfile extends Profile {
  readonly name: string;
}

/** Where profiles are kept by a user of this machine, with the name of the one that is used when none is named. */
interface Profiles {
  readonly current: string | undefined;
  readonly byName: ReadonlyMap<string, Profile>;
}

const noProfiles: Profiles = { current: undefined, byName: new Map() };

/** Returns the profile of this name, or the one in use where none is named; undefined when there is none. */
export async function findProfile(
  folder: string | undefined,
  name: string | undefined,
): Promise<NamedProfile | undefined> {
  if (folder === undefined) return undefined;
  const { current, byName } = await readProfiles(folder);
  return namedOf(byName, name ?? current);
}

/** Returns the profile of a service, to be used with its URL only: a token must go to nobody else. */
export async function findProfileOf(
  folder: string | undefined,
  url: string,
): Promise<NamedProfile | undefined> {
  if (folder === undefined) return undefined;
  const { byName } = await readProfiles(folder);
  return namedOf(
    byName,
    [...byName.keys()].find((name) => byName.get(name)?.url === url),
  );
}

function namedOf(byName: Profiles['byName'], name: string | undefined): NamedProfile | undefined {
  const profile = name === undefined ? undefined : byName.get(name);
  return name === undefined || profile === undefined ? undefined : { name, ...profile };
}

/** Saves a profile, which is in use from then on. Only the user can read the file. */
export async function saveProfile(folder: string, name: string, profile: Profile): Promise<void> {
  const { byName } = await readProfiles(folder);
  await write(folder, { current: name, byName: new Map([...byName, [name, profile]]) });
}

/** Forgets a profile; returns false when there is none of this name. */
export async function removeProfile(folder: string, name: string): Promise<boolean> {
  const { current, byName } = await readProfiles(folder);
  if (!byName.has(name)) return false;
  const others = new Map([...byName].filter(([other]) => other !== name));
  await write(folder, { current: current === name ? others.keys().next().value : current, byName: others });
  return true;
}

async function readProfiles(folder: string): Promise<Profiles> {
  const path = join(folder, 'profiles.json');
  try {
    return decode(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return noProfiles;
    if (!(error instanceof SyntaxError)) throw error;
    throw new CommandError(exitCodes.io, `${path} is not JSON: remove it and sign in again.`, {
      cause: error,
    });
  }
}

/** What is not a profile is left out. */
function decode(json: unknown): Profiles {
  if (!isJsonObject(json)) return noProfiles;
  const profiles = isJsonObject(json['profiles']) ? json['profiles'] : {};
  const byName = new Map<string, Profile>();
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isJsonObject(profile)) continue;
    const [url, token] = [ownMember(profile, 'url'), ownMember(profile, 'token')];
    if (typeof url === 'string' && typeof token === 'string') byName.set(name, { url, token });
  }
  return { current: typeof json['current'] === 'string' ? json['current'] : undefined, byName };
}

/** Writes to another file first: a full disk must not take the profiles that are there. */
async function write(folder: string, { current, byName }: Profiles): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'profiles.json');
  const next = `${path}.${newId()}`;
  try {
    const json = { current, profiles: Object.fromEntries(byName) };
    await writeFile(next, `${JSON.stringify(json, null, 2)}\n`, { mode: 0o600 });
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}
