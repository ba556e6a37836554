import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isJsonObject } from '../../src/base/json.ts';
import type { Command } from './run-command.ts';

/** Where the client of one document is made: a folder of its own. */
export interface Place {
  readonly folder: string;
  /** The document, a file. */
  readonly document: string;
  /** The service that the client is for. */
  readonly url: string;
  /** The folder with the installed packages of npm, and the Python with those of pip. */
  readonly packages: string;
  readonly python: string;
  readonly run: Command;
}

export interface Generator {
  readonly name: string;
  /** Its package, whose exact version `package.json` or `requirements.txt` has. */
  readonly package: string;
  /** Programs without which it is left out. */
  readonly needs: readonly string[];
  /** Makes the client in the place. */
  generate(place: Place): Promise<void>;
  /** Compiles it; with `roundTrip` also the program of `clients/` that uses it. */
  compile(place: Place, options: { readonly roundTrip: boolean }): Promise<void>;
  /** Runs that program and returns what it prints; left out where only the compiler is tried. */
  roundTrip?(place: Place): Promise<string>;
}

export const folder = import.meta.dirname;

/** What is left of the document for the generator that would make requests of its webhooks, over those of routes in some languages. */
const withoutWebhooks =
  'apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';

/** What OpenAPI Generator needs, whose package of pip has its archive of Java. */
const java = ['java', 'python3'];

const goModule = ['--git-host=chancery.example', '--git-user-id=clients', '--git-repo-id=go'];

export const generators: readonly Generator[] = [
  typeScript('openapi-typescript', 'openapi-typescript', ({ packages, run, document, folder: cwd }) =>
    run(bin(packages, 'openapi-typescript'), [document, '-o', 'client/schema.ts'], { cwd }),
  ),
  typeScript('hey-api', '@hey-api/openapi-ts', ({ packages, run, document, folder: cwd }) =>
    run(bin(packages, 'openapi-ts'), ['-i', document, '-o', 'client', '-c', '@hey-api/client-fetch'], {
      cwd,
    }),
  ),
  typeScript('orval', 'orval', ({ packages, run, document, url, folder: cwd }) => {
    const output = { target: './client/api.ts', client: 'fetch', baseUrl: url };
    const config = { chancery: { input: document, output } };
    writeFileSync(join(cwd, 'orval.config.mjs'), `export default ${JSON.stringify(config)};\n`);
    return run(bin(packages, 'orval'), ['--config', 'orval.config.mjs'], { cwd });
  }),
  typeScript('oazapfts', 'oazapfts', ({ packages, run, document, folder: cwd }) =>
    run(bin(packages, 'oazapfts'), [document, 'client/api.ts'], { cwd }),
  ),
  {
    ...typeScript('typescript-fetch', 'openapi-generator-cli', openApiGenerator('typescript-fetch')),
    needs: java,
  },
  {
    name: 'go',
    package: 'openapi-generator-cli',
    needs: [...java, 'go'],
    generate: openApiGenerator('go', {
      properties: 'packageName=client,useOneOfDiscriminatorLookup=true',
      options: goModule,
    }),
    compile: async ({ folder: cwd, run }, { roundTrip }) => {
      const client = join(cwd, 'client');
      if (roundTrip) cpSync(join(folder, 'clients/go'), join(client, 'main'), { recursive: true });
      await run('go', ['mod', 'tidy'], { cwd: client });
      await run('go', ['vet', './...'], { cwd: client });
    },
    roundTrip: ({ folder: cwd, run }) => run('go', ['run', './main'], { cwd: join(cwd, 'client') }),
  },
  {
    name: 'python',
    package: 'openapi-generator-cli',
    needs: java,
    generate: openApiGenerator('python', { properties: 'packageName=chancery_client' }),
    compile: async ({ folder: cwd, python, run }) => {
      const client = join(cwd, 'client');
      await run(python, ['-m', 'compileall', '-q', 'chancery_client'], { cwd: client });
      await run(python, ['-W', 'error', '-c', 'import chancery_client'], { cwd: client });
    },
    roundTrip: ({ folder: cwd, python, run }) => {
      cpSync(join(folder, 'clients/python/main.py'), join(cwd, 'client/main.py'));
      return run(python, ['main.py'], { cwd: join(cwd, 'client') });
    },
  },
  {
    name: 'csharp',
    package: 'openapi-generator-cli',
    needs: [...java, 'dotnet'],
    generate: openApiGenerator('csharp'),
    compile: async ({ folder: cwd, run }) => {
      await run('dotnet', ['build', 'client'], { cwd });
    },
  },
];

/** Returns the version of a generator's package. */
export function versionOf({ package: name }: Generator): string {
  const python = new RegExp(`^${name}==(.*)$`, 'm').exec(
    readFileSync(join(folder, 'requirements.txt'), 'utf8'),
  );
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const dependencies =
    isJsonObject(manifest) && isJsonObject(manifest['dependencies']) ? manifest['dependencies'] : {};
  const version = python?.[1] ?? dependencies[name];
  if (typeof version !== 'string') throw new Error(`there is no version of ${name}`);
  return version;
}

/** A generator of TypeScript, whose client is compiled by the compiler of the project. */
function typeScript(name: string, packageName: string, make: (place: Place) => Promise<unknown>): Generator {
  const isInstalled = packageName !== 'openapi-generator-cli';
  return {
    name,
    package: packageName,
    needs: [],
    generate: async (place) => {
      if (isInstalled) symlinkSync(join(place.packages, 'node_modules'), join(place.folder, 'node_modules'));
      await make(place);
    },
    compile: async ({ folder: cwd, run }, { roundTrip }) => {
      if (roundTrip)
        for (const file of [`${name}.ts`, 'round-trip.ts'])
          cpSync(join(folder, 'clients', file), join(cwd, file));
      writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(compilerOptions));
      await run('tsc', ['-p', '.'], { cwd });
    },
    roundTrip: async ({ folder: cwd, run }) => {
      await run(
        'esbuild',
        [`${name}.ts`, '--bundle', '--format=esm', '--platform=node', '--outfile=main.mjs'],
        { cwd },
      );
      return run('node', ['main.mjs'], { cwd });
    },
  };
}

/** The options of the compiler for clients in TypeScript. */
export const compilerOptions = {
  compilerOptions: {
    strict: true,
    target: 'es2022',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
    noEmit: true,
    skipLibCheck: true,
  },
  include: ['*.ts', 'client'],
};

interface LanguageOptions {
  readonly properties?: string;
  readonly options?: readonly string[];
}

/** Makes clients in a language by OpenAPI Generator. */
function openApiGenerator(
  language: string,
  { properties, options = [] }: LanguageOptions = {},
): Generator['generate'] {
  const more = properties === undefined ? options : [`--additional-properties=${properties}`, ...options];
  return async ({ python, run, document, folder: cwd }) => {
    const from = ['-g', language, '-i', document, '-o', 'client', '--global-property', withoutWebhooks];
    await run(join(dirname(python), 'openapi-generator-cli'), ['generate', ...from, ...more], { cwd });
  };
}

function bin(packages: string, name: string): string {
  return join(packages, 'node_modules/.bin', name);
}
