import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Plugin, type Rolldown } from 'vite';
import {
  codingEndings,
  type DashboardCoding,
  type DashboardFile,
} from '../../src/http/server/dashboard-files.ts';
import { dashboardFolder, isDashboardStale } from './dashboard-stale.ts';
import { packageFolders } from './package-folders.ts';
import { root } from './root.ts';

export interface MadeDashboard {
  readonly files: readonly DashboardFile[];
  /** Everything that was made, by its path: the files, the same in other codings, and `files.json`, which lists the files. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** The folders of the packages whose code is in it, below the root. */
  readonly folders: readonly string[];
}

/** Parts of the settings' and the operator's screens, and of lists with columns and plots, of which the first screen has none. */
const lazyParts = [
  'audit-log',
  'backup-words',
  'complete-rule',
  'data-table',
  'delivery-table',
  'editor/',
  'endpoint-badge',
  'endpoint-words',
  'form/',
  'key-fields',
  'log-filters',
  'mail-templates',
  'plot',
  'resend',
  'secret-once',
];
/** With what every screen requests: each module would otherwise be a file of its own beside the lazy parts. */
const sharedParts = new RegExp(
  String.raw`dashboard/src/(?:parts/(?!${lazyParts.join('|')})|browser|app|api/(?:settings|last-day|logs|live-changes|expressions|read-blob))|lucide-react|react-router|useInfiniteQuery|@tanstack/(?:react-)?virtual`,
);
/** What places menus and popovers, which come when a button that opens one is reached. */
const floatingParts =
  /node_modules\/(?:@radix-ui|@floating-ui|aria-hidden|react-remove-scroll|react-style-singleton|use-callback-ref|use-sidecar|get-nonce)/;
/** The editors of records, and the work on many of them at once. */
const lazyRecordParts = [
  'bulk',
  'cell-condition',
  'csv',
  'editors',
  'export',
  'field-',
  'file-drop',
  'record-draft',
  'related-',
  'saving-',
  'undo',
  'saved-views',
  'use-saving',
  'use-work',
  'view-list',
  'work-',
];
/** What the table of records has and is made with. */
const sharedByRecords = new RegExp(
  String.raw`dashboard/src/(?:api/records|screens/records/(?!${lazyRecordParts.join('|')})|parts/data-table/use-selection)|@tanstack/(?:react-)?table`,
);
/** What the other lists are made of, which are tables with columns, and what often stands beside them. */
const sharedByTables = /dashboard\/src\/(?:parts\/(?:data-table|backup-words|secret-once|plot\.)|api\/audit)/;

/**
 * Builds the dashboard, with a list of its files and each text in other codings beside it. Writes nothing, so that several may do so at
 * once. The same sources make the same bytes.
 */
export async function makeDashboard(
  codings: readonly DashboardCoding[] = ['br', 'gzip'],
): Promise<MadeDashboard> {
  const { NODE_ENV: kind } = process.env;
  const { output } = (await build({
    configFile: false,
    root: join(root, 'dashboard'),
    // Relative, as the page works below any path.
    base: './',
    publicDir: false,
    logLevel: 'error',
    plugins: [theme],
    build: {
      write: false,
      target: ['chrome120', 'firefox121', 'safari17'],
      // The policy of the page allows no data: URLs but images, and a sprite would hide what a request costs.
      assetsInlineLimit: 0,
      // It adds an inline script.
      modulePreload: { polyfill: false },
      sourcemap: false,
      reportCompressedSize: false,
      chunkSizeWarningLimit: 700,
      // What several screens are made of comes in one file: a request for each would cost more than its few bytes.
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [
              { name: 'parts', test: sharedParts, minShareCount: 2 },
              { name: 'records', test: sharedByRecords, minShareCount: 2 },
              { name: 'tables', test: sharedByTables, minShareCount: 2 },
              // Last, as a group takes along what its files import, and React belongs to the first.
              { name: 'floating', test: floatingParts },
            ],
          },
        },
      },
    },
    // One output, as there is one format and no watching.
  })) as Rolldown.RolldownOutput;
  // vite sets it for the whole process, and npm, when it is started afterwards, leaves packages out of what it lists.
  if (kind === undefined) delete process.env['NODE_ENV'];
  else process.env['NODE_ENV'] = kind;
  const parts = output
    .map((part) => ({
      path: part.fileName,
      content: Buffer.from(part.type === 'chunk' ? part.code : part.source),
    }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const files = parts.map(({ path, content }) => describeFile(path, content, codings));
  const coded = parts.flatMap(({ path, content }, index) =>
    (files[index]?.codings ?? []).map(
      (coding) => [path + codingEndings[coding], compress(content, coding)] as const,
    ),
  );
  const inputs = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
  return {
    files,
    contents: new Map<string, Uint8Array>([
      ...parts.map(({ path, content }) => [path, content] as const),
      ...coded,
      ['files.json', Buffer.from(`${JSON.stringify(files)}\n`)],
    ]),
    folders: packageFolders(inputs.map((path) => relative(root, path))),
  };
}

/** Puts what was made where the server looks for it when it runs from the sources, in the place of an older one. */
export function installDashboard({ contents }: MadeDashboard, isForced: boolean): void {
  const place = `${dashboardFolder}-${process.pid}`;
  try {
    for (const [path, content] of contents) {
      mkdirSync(dirname(join(place, 'new', path)), { recursive: true });
      writeFileSync(join(place, 'new', path), content);
    }
    // Another process may have done the same meanwhile, and serve from it by now.
    if (!isForced && !isDashboardStale()) return;
    if (existsSync(dashboardFolder)) renameSync(dashboardFolder, join(place, 'old'));
    renameSync(join(place, 'new'), dashboardFolder);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

function describeFile(path: string, content: Buffer, codings: readonly DashboardCoding[]): DashboardFile {
  const type = types[extname(path)];
  if (type === undefined) throw new Error(`expected a type for ${path} in tools/build/dashboard.ts`);
  const isHashed = path.startsWith('assets/');
  const etag = createHash('sha256').update(content).digest('hex').slice(0, 20);
  return { path, type, codings: isHashed ? codings : [], etag, isHashed };
}

function compress(content: Buffer, coding: DashboardCoding): Buffer {
  // Two levels below the best, which takes three times as long for a fiftieth less.
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 10 };
  return coding === 'br' ? brotliCompressSync(content, { params: quality }) : gzipSync(content, { level: 9 });
}

/**
 * Puts the script that sets the theme in front of everything: it has to run before the first paint, or a page of a person who chose the
 * other theme than the system flashes. It cannot be inline, as the policy of the page forbids that, nor a module, which would wait.
 */
const theme: Plugin = {
  name: 'theme',
  transformIndexHtml: {
    order: 'post',
    handler: (html, { bundle = {} }) => {
      const name = Object.keys(bundle).find((file) => /^assets\/set-theme-.*\.js$/.test(file));
      if (name === undefined) return html;
      // Behind the base, as its address is relative; before the styles, as it would wait for those.
      return html.replace(/<base [^>]*>/, (base) => `${base}\n    <script src="./${name}"></script>`);
    },
  },
  generateBundle() {
    const source = readFileSync(join(root, 'dashboard/src/set-theme.js'), 'utf8');
    const comment = /\/\*[^]*?\*\/\s*/g;
    this.emitFile({ type: 'asset', name: 'set-theme.js', source: source.replaceAll(comment, '') });
  },
};
