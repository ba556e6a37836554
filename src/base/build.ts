import { readFileSync } from 'node:fs';

/** What this program was made from, and how it reached this machine. */
export interface Build {
  readonly version: string;
  /** The commit that it was built from; null when Node runs the sources. */
  readonly commit: string | null;
  readonly form: 'sources' | 'package' | 'executable';
}

/** The bundler puts a value in the place of this name (tools/build/bundle.ts). The sources do not define it. */
declare const chanceryBuild: Build | undefined;

export const build: Build =
  typeof chanceryBuild === 'undefined'
    ? { version: readVersion(), commit: null, form: 'sources' }
    : chanceryBuild;

/** What an operator types before the name of a command. */
export const commandName = {
  sources: 'npx chancery',
  package: 'npx chancery',
  executable: 'chancery',
}[build.form];

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // Our own file: a version is always in it, and npm would refuse it otherwise.
  return (JSON.parse(text) as { readonly version: string }).version;
}
