declare global {
  // What vite makes of files when it builds; its own types would bring all of Node along.
  interface ImportMeta {
    glob(pattern: string, options: GlobOptions): Readonly<Record<string, string>>;
  }
}

interface GlobOptions {
  readonly query: '?raw';
  readonly import: 'default';
  readonly eager: true;
}

/** The verifiers of docs/verify as they stand there, so that what is shown is what the tests run. */
const texts = import.meta.glob('../../../../docs/verify/[vV]erify.*', {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** The text of `verify.py`, …; empty for a name that is not there. */
export function verifierText(name: string): string {
  return texts[`../../../../docs/verify/${name}`]?.trimEnd() ?? '';
}
