import assert from 'node:assert/strict';
import { globSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { transformSync } from 'esbuild';
import kitPackage from '../kit/package.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };
import { root } from '../tools/build/root.ts';
import { run } from '../tools/build/run.ts';
import { installKit } from './support/install-kit.ts';
import { temporaryTree, type Tree } from './support/temporary-tree.ts';

interface PackageJson {
  readonly private: boolean;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** As much of the frameworks as our files use, to check types without them; `npm run examples` builds with the real ones. */
const nextTypes = `
declare module 'next/cache' { export function revalidatePath(path: string): void }
declare module 'next/navigation' { export function redirect(url: string): never }
declare module 'next/headers' {
  interface Cookies {
    get(name: string): { value: string } | undefined;
    set(name: string, value: string, options: { httpOnly: boolean; sameSite: 'lax'; secure: boolean }): void;
    delete(name: string): void;
  }
  export function cookies(): Promise<Cookies>;
}
declare module 'react' { export type ReactNode = unknown }
declare module 'react/jsx-runtime' {
  export namespace JSX { interface IntrinsicElements { [name: string]: object } }
}`;
const svelteTypes = `
declare module '$app/env/private' { export const CHANCERY_URL: string; export const WEBHOOK_SECRET: string }
declare module '@sveltejs/kit/env' {
  export function defineEnvVars(variables: Record<string, { description: string; schema?: (value: string | undefined) => string }>): object;
}
declare module '@sveltejs/kit' {
  interface Cookies {
    get(name: string): string | undefined;
    set(name: string, value: string, options: { path: string; httpOnly: boolean; sameSite: 'lax' }): void;
    delete(name: string, options: { path: string }): void;
  }
  export interface Event { request: Request; cookies: Cookies; locals: App.Locals }
  export function fail(status: number, value: object): unknown;
  export type Handle = (input: { event: Event; resolve: (event: Event) => Promise<Response> }) => Promise<Response>;
}`;
const routeTypes = `
import type { Event } from '@sveltejs/kit';
export type PageServerLoad = (event: Event) => unknown;
export type Actions = Record<string, (event: Event) => unknown>;
export type RequestHandler = (event: Event) => Promise<Response>;`;

const apps: readonly { readonly name: string; readonly types: Tree }[] = [
  { name: 'next', types: { 'framework.d.ts': nextTypes } },
  {
    name: 'sveltekit',
    types: {
      'framework.d.ts': svelteTypes,
      ...Object.fromEntries(
        ['', 'write/', 'hook/'].map((route) => [`src/routes/${route}$types.d.ts`, routeTypes]),
      ),
    },
  },
];

for (const { name, types } of apps) {
  const folder = join(root, 'examples', name);
  const files = globSync('**/*.{ts,tsx,svelte}', {
    cwd: folder,
    exclude: ['node_modules', '.next', '.svelte-kit', 'build'],
  }).filter((path) => !path.endsWith('.d.ts') || path.startsWith('src/'));

  test(`the example ${name} pins its packages, and those that it shares with the repository`, () => {
    const { private: isPrivate, scripts, dependencies, devDependencies } = readPackage(folder);
    assert.equal(isPrivate, true);
    const archive = `file:../../dist/chancery-webhooks-${kitPackage.version}.tgz`;
    for (const [dependency, version] of Object.entries({ ...dependencies, ...devDependencies }))
      if (version !== archive) assert.match(version, /^\d+\.\d+\.\d+$/, dependency);
    assert.equal(dependencies['@chancery/webhooks'], archive, 'what `npm run pack` makes');
    assert.equal(dependencies['pocketbase'], packageJson.devDependencies.pocketbase);
    assert.deepEqual(Object.keys(scripts), ['dev', 'build', 'start']);
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    for (const command of ['npm run pack', 'npm install', 'npm run build', 'npm start'])
      assert.ok(readme.includes(command), command);
  });

  test(`every file of the example ${name} can be parsed`, () => {
    assert.ok(files.length >= 6, files.join(' '));
    for (const path of files) {
      const text = readFileSync(join(folder, path), 'utf8');
      const script = path.endsWith('.svelte')
        ? (/<script lang="ts">(.*?)<\/script>/s.exec(text)?.[1] ?? '')
        : text;
      assert.notEqual(script, '', path);
      transformSync(script, { loader: path.endsWith('.tsx') ? 'tsx' : 'ts', sourcefile: path });
    }
  });

  test(`the example ${name} uses the SDK and the kit by their types`, (t) => {
    checkTypes(t, { folder, files, types });
    // A wrong use is found, or the check would show nothing.
    const wrong = files.find((path) => /(chancery|route)\.ts$/.test(path)) ?? '';
    assert.throws(
      () =>
        checkTypes(t, { folder, files, types, extra: { [wrong]: 'export const wrong: number = `text`;' } }),
      /not assignable to type 'number'/,
    );
  });
}

interface TypeCheck {
  readonly folder: string;
  readonly files: readonly string[];
  readonly types: Tree;
  /** Stands behind the text of a file. */
  readonly extra?: Tree;
}

/** Fails unless the compiler accepts the files of an example. */
function checkTypes(t: TestContext, { folder, files, types, extra = {} }: TypeCheck): void {
  const copies = files
    // Vite and the components are the framework's alone.
    .filter((path) => !path.endsWith('.svelte') && path !== 'vite.config.ts')
    .map((path) => [path, `${readFileSync(join(folder, path), 'utf8')}${extra[path] ?? ''}`] as const);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'esnext',
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    lib: ['dom', 'dom.iterable', 'esnext'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  };
  const project = temporaryTree(t, {
    ...Object.fromEntries(copies),
    ...types,
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['**/*'] }),
    'package.json': '{ "type": "module" }',
  });
  installKit(project);
  symlinkSync(join(root, 'node_modules/pocketbase'), join(project, 'node_modules/pocketbase'));
  run('tsc', ['-p', '.'], { cwd: project });
}

function readPackage(folder: string): PackageJson {
  // The cast holds as far as the test looks at it.
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageJson;
}
