import { isProduct, type SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

/** Why one instance takes nothing from others by what they share. */
const reasons = {
  compiled: 'Compiled forms of texts, which are the same for all: without an entry the form is made again.',
  copies: 'Copies of what is stored: whatever is not there is read again.',
  counts:
    'A bounded table of counts by instance and client. Where it is full the oldest are dropped, of whichever instance.',
  loaded: 'One thing that is made when it is first needed.',
  ofInstance: 'There is one for each instance, or for each of its files or connections.',
  ofProcess: 'The process itself: its output, its metrics, its stop.',
} as const;

/** What all instances of a process share, by file. Whatever is scarce is handed out by a FairQueue or a Ledger, which need no entry. */
const allowed: SharedPlaces = {
  'src/access/rule.ts': { parsedRules: 'compiled' },
  'src/auth/account-mail.ts': { sent: 'counts' },
  'src/auth/email-change.ts': { requests: 'counts' },
  'src/auth/one-time-password.ts': { codes: 'counts', pairs: 'counts', accounts: 'counts' },
  'src/auth/request-otp.ts': { requests: 'counts', lastIds: 'counts' },
  'src/base/case-folding.ts': { cached: 'loaded', cachedForms: 'loaded', cachedShort: 'loaded' },
  'src/base/create-logger.ts': { output: 'ofProcess', waiting: 'ofProcess' },
  'src/base/fair-queue.ts': { '#whenIdle': 'ofProcess' },
  'src/base/html-text.ts': { loaded: 'loaded' },
  'src/base/ids.ts': { poolAt: 'ofProcess' },
  'src/base/match-like.ts': { compiled: 'compiled' },
  'src/base/timestamp.ts': { last: 'copies' },
  'src/base/turns.ts': { '#waiting': 'ofInstance' },
  'src/fields/email-field.ts': { patterns: 'loaded' },
  'src/fields/json-field.ts': { lastJson: 'copies' },
  'src/fields/pattern.ts': { compiledPatterns: 'compiled' },
  'src/fields/text-field.ts': { plans: 'compiled', acceptedOptions: 'compiled' },
  'src/filters/forms-expression.ts': { cached: 'loaded' },
  'src/logs/metrics.ts': { ofProcess: 'ofProcess', isProcessCounted: 'ofProcess' },
  'src/query/row-cache.ts': { rowJson: 'copies' },
  'src/query/rule-plan.ts': { plans: 'compiled' },
  'src/records/passwords.ts': { wrong: 'counts' },
  'src/records/decode-record.ts': { none: 'copies' },
  'src/records/list-records.ts': { plans: 'compiled', cachedLists: 'copies' },
  'src/secrets/password.ts': { idle: 'loaded' },
  'src/secrets/token.ts': { verifiedTokens: 'copies' },
  'src/sql/sql.ts': { limits: 'compiled' },
  'src/storage/postgres/batched-statements.ts': { combinedStatements: 'compiled' },
  'src/storage/postgres/postgres-connection.ts': { commandConfigs: 'compiled', numberedTexts: 'compiled' },
  'src/storage/postgres/postgres-names.ts': {
    tables: 'compiled',
    bareNames: 'compiled',
    columns: 'compiled',
  },
  'src/storage/postgres/postgres-pool.ts': { '#onEmpty': 'ofProcess' },
  'src/storage/postgres/read-batches.ts': { '#onIdle': 'ofProcess' },
  'src/storage/sqlite/pending-answers.ts': { '#waiting': 'ofProcess' },
  'src/storage/sqlite/reader-worker.ts': { answers: 'ofProcess' },
  'src/storage/sqlite/view-guard.ts': { moduleNames: 'loaded' },
  'src/storage/sqlite/view-worker.ts': { answers: 'ofProcess' },
  'src/storage/sqlite/writer-worker.ts': { connection: 'ofInstance', answered: 'ofInstance' },
  'src/storage/sqlite/sqlite-names.ts': { tables: 'compiled', combined: 'compiled' },
  'src/network/proxy-tunnel.ts': { waiting: 'ofProcess' },
  'src/endpoints/endpoint-warnings.ts': { lines: 'counts', failing: 'counts' },
  'src/hosts/host-thread.ts': { '#stops': 'ofProcess' },
  'src/sending/sender-worker.ts': { agent: 'ofProcess', unsent: 'ofProcess' },
  'src/sending/signature.ts': { cachedKeys: 'compiled', cachedPrivateKeys: 'compiled' },
};

type SharedPlaces = Readonly<Record<string, Readonly<Record<string, keyof typeof reasons>>>>;

/** Classes that hand out what they have by instance. */
const fair: ReadonlySet<string> = new Set(['FairQueue', 'FairLine', 'Ledger']);

/** Classes of the language and of Node whose values are constants, or hold nothing for longer than their keys live. */
const harmless: ReadonlySet<string> = new Set(
  'RegExp Date URL URLSearchParams TextEncoder TextDecoder WeakMap WeakSet Uint8Array Uint32Array Intl AssertionFailed'.split(
    ' ',
  ),
);

const message =
  'all instances share this: hand it out with a FairQueue or a Ledger, or say in shared-state.ts why not';

/**
 * Refuses queues, limits and caches of the whole process that have no shares per instance: mutable state and such objects at the top
 * level of a module, and lists of waiting functions or promises anywhere but in the queues that are fair.
 */
export function checkSharedState(
  files: readonly SourceFile[],
  places: SharedPlaces = allowed,
): readonly Violation[] {
  // A test looks at parts of a tree.
  const isWhole = files.some(({ path }) => path === 'tools/tidy/shared-state.ts');
  const product = files.filter(({ path }) => isProduct(path) && !path.startsWith('src/cli/'));
  return product.flatMap((file) => {
    const { path } = file;
    const known = places[path] ?? {};
    const found = [...sharedOf(file)];
    const unknown = found.filter(({ name }) => !Object.hasOwn(known, name));
    const stale = isWhole ? Object.keys(known).filter((name) => !found.some((one) => one.name === name)) : [];
    return [
      ...unknown.map(({ line }) => ({ path, line, rule: 'shared-state', message })),
      ...stale.map((name) => ({
        path,
        line: 1,
        rule: 'shared-state',
        message: `${name} is not shared any more`,
      })),
    ];
  });
}

interface Shared {
  readonly line: number;
  readonly name: string;
}

function* sharedOf({ tokens }: SourceFile): Generator<Shared> {
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    const name = nameAt(tokens, index);
    if (name !== undefined) {
      const declared = declaration(tokens, index);
      const isShared = depth === 0 ? isMutable(declared, token.text) : false;
      if (isShared || holdsWaiters(declared)) yield { line: token.line, name };
    }
    if (token.kind === 'punctuation' || token.kind === 'template') depth += opened(token);
  }
}

function opened({ kind, text }: Token): number {
  if (kind === 'template') return (text.endsWith('${') ? 1 : 0) - (text.startsWith('}') ? 1 : 0);
  return '([{'.includes(text) ? 1 : ')]}'.includes(text) ? -1 : 0;
}

/** The name that is declared here: of a variable, or of a private field of a class. */
function nameAt(tokens: readonly Token[], index: number): string | undefined {
  const [before, token, next, second] = [-1, 0, 1, 2].map((offset) => tokens[index + offset]);
  if (token?.text === 'const' || token?.text === 'let') return next?.kind === 'word' ? next.text : undefined;
  const isField = token?.text.startsWith('#') === true && before?.text !== '.' && before?.text !== '?.';
  if (!isField || !(next?.text === ':' || (next?.text === '=' && second?.text !== '='))) return undefined;
  return token?.text;
}

/** The tokens of a declaration to its end. */
function declaration(tokens: readonly Token[], index: number): readonly Token[] {
  let depth = 0;
  for (let end = index; end < tokens.length; end += 1) {
    const token = tokens[end];
    if (token === undefined) break;
    if (token.kind === 'punctuation' || token.kind === 'template') depth += opened(token);
    if (depth < 0 || (depth === 0 && token.text === ';')) return tokens.slice(index, end);
  }
  return tokens.slice(index);
}

/** Whether a declaration at the top level is of something that changes. */
function isMutable(declared: readonly Token[], keyword: string): boolean {
  if (keyword === 'let') return true;
  const text = declared.map((token) => token.text);
  const at = text.lastIndexOf('=', text.indexOf('new') === -1 ? undefined : text.indexOf('new'));
  const value = text.slice(at + 1);
  if (value[0] === '[' && value[1] === ']') return !text.slice(0, at).includes('readonly');
  if (value[0] !== 'new') return false;
  const made = value[1] ?? '';
  if (fair.has(made)) return false;
  if (made === 'Map' || made === 'Set') {
    const open = value.indexOf('(');
    return value[open + 1] === ')' && !text.some((word) => word === `Readonly${made}`);
  }
  return !harmless.has(made);
}

/** Whether something declares a list of functions or promises that are called or settled later. */
function holdsWaiters(declared: readonly Token[]): boolean {
  const text = declared.map((token) => token.text).join(' ');
  return /=> void \) \[ \] = \[|PromiseWithResolvers < .* > \[ \] = \[/.test(text);
}
