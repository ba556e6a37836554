import { useMutation } from '@tanstack/react-query';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleX from 'lucide-react/icons/circle-x';
import X from 'lucide-react/icons/x';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import type { Collection } from '../../api/client.ts';
import {
  type CollectionInput,
  newestRecord,
  ruleKind,
  type RuleName,
  type RuleTest,
  rulesOf,
  ruleTitles,
  type RuleVerdict,
  testRule,
} from '../../api/definitions.ts';
import { choicesOf } from '../../api/members-of.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import type { Field, Part } from '../../parts/form/field.ts';
import { PartViews } from '../../parts/form/form-view.tsx';
import { useBoundForm } from '../../parts/form/use-bound-form.ts';
import { Key } from '../../parts/key.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { RecordPicker } from './record-picker.tsx';

/** Whom and what a rule is tested with. The address holds it, so that a link shows the same test. */
export interface TestSearch {
  readonly test?: RuleName;
  /** `superuser`, or the id of a collection and of its account: `users/abc`; a guest if left out. */
  readonly as?: string;
  /** The id of a record; a new one if left out. */
  readonly on?: string;
}

interface RuleTesterProps {
  readonly name: RuleName;
  /** As it is in the draft: it need not be saved. */
  readonly rule: string | null;
  /** As it is stored, or is to be. */
  readonly collection: Collection;
  /** Of a collection that is not saved: there are no records of it yet. */
  readonly definition?: CollectionInput;
  readonly collections: readonly Collection[];
  readonly search: TestSearch;
  readonly onSearch: (search: TestSearch) => void;
  readonly onClose: () => void;
}

/** Tests a rule as somebody, on a record, without any effect on data: allowed or not, and which of its comparisons is why. */
export function RuleTester(props: RuleTesterProps) {
  const { name, rule, collection, definition, search, onClose } = props;
  const [body, setBody] = useState('');
  const [bodyError, setBodyError] = useState<string>();
  const panel = useRef<HTMLElement>(null);
  const test = useMutation({
    mutationFn: async (input: TestInput) => testRule({ name: collection.name, definition }, input),
  });
  const run = (): void => {
    const members = parseMembers(body);
    setBodyError(members === undefined ? 'Not a JSON object: { "title": "First" }' : undefined);
    if (members !== undefined) test.mutate(toTest({ name, rule, search, members }));
  };
  const start = useEffectEvent(() => {
    if (!isIncomplete(search)) test.mutate(toTest({ name, rule, search, members: {} }));
  });
  useEffect(() => {
    panel.current?.focus();
    start();
  }, []);
  return (
    <aside
      className="drawer"
      ref={panel}
      tabIndex={-1}
      aria-label="Rule tester"
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) run();
        if (event.key === 'Escape') onClose();
      }}
    >
      <header className="drawer-head">
        <div className="drawer-title">
          <h2 className="cut">Test as…</h2>
        </div>
        <IconButton label="Close" keys="esc" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      <div className="drawer-body">
        <div className="drawer-form">
          <Inputs {...props} body={body} error={bodyError} onBody={setBody} />
          {test.error !== null && <FailureNotice error={test.error} />}
          {test.data !== undefined && test.error === null && (
            <Verdict
              verdict={test.data}
              rule={rule}
              isSuperuser={search.as === 'superuser'}
              isGuest={search.as === undefined}
            />
          )}
        </div>
      </div>
      <footer className="drawer-foot">
        <span className="drawer-foot-note">Nothing is written.</span>
        <Button tone="primary" disabled={test.isPending || isIncomplete(search)} onClick={run}>
          Test
          <Key keys="Mod↵" />
        </Button>
      </footer>
    </aside>
  );
}

/** What is chosen and typed, as the form has it. */
type Chosen = Readonly<{
  test: RuleName;
  caller: 'guest' | 'account' | 'superuser';
  owner: string;
  account: string;
  place: 'new' | 'stored';
  record: string;
  body: string;
}>;

interface InputsProps extends RuleTesterProps {
  readonly body: string;
  readonly error: string | undefined;
  readonly onBody: (text: string) => void;
}

/** As whom the rule is tested, on which record, and with what. */
function Inputs(props: InputsProps) {
  const { name, collection, collections, search, body, error, onSearch, onBody } = props;
  const [owner = '', account = ''] = (search.as ?? '').split('/');
  const accounts = collections.filter(({ type, system }) => type === 'auth' && !system);
  const values: Chosen = {
    test: name,
    caller: accounts.some(({ id }) => id === owner)
      ? 'account'
      : search.as === 'superuser'
        ? 'superuser'
        : 'guest',
    owner,
    account,
    place: search.on === undefined ? 'new' : 'stored',
    record: search.on?.trim() ?? '',
    body,
  };
  const change = (next: Chosen): void => {
    onBody(next.body);
    const chosen = next.owner === '' || next.caller !== values.caller ? (accounts[0]?.id ?? '') : next.owner;
    const account = next.owner === owner && next.caller === values.caller ? next.account : '';
    const as = { guest: '', superuser: 'superuser', account: `${chosen}/${account}` }[next.caller];
    // A blank stands for one that is still to be chosen.
    const on = next.place === 'stored' ? next.record || ' ' : '';
    const after = { test: next.test, ...(as !== '' && { as }), ...(on !== '' && { on }) };
    if (JSON.stringify(after) !== JSON.stringify(search)) onSearch(after);
  };
  const form = useBoundForm({
    parts: partsOf(props, { accounts, collection, values }),
    values,
    prefix: 'test-',
    errors: new Map(error === undefined ? [] : [['body', error]]),
    onChange: change,
  });
  return <PartViews form={form} parts={form.parts} />;
}

interface Situation {
  readonly accounts: readonly Collection[];
  readonly collection: Collection;
  readonly values: Chosen;
}

function partsOf({ rule, definition }: RuleTesterProps, situation: Situation): readonly Part[] {
  const { accounts, collection, values } = situation;
  const { caller, owner, place, test } = values;
  const account = caller === 'account' ? accounts.find(({ id }) => id === owner) : undefined;
  const isStored = place === 'stored';
  return [
    {
      kind: 'choice',
      path: 'test',
      label: 'Rule',
      isSearched: true,
      choices: rulesOf(collection).map((one) => ({ value: one, label: ruleTitles[one] })),
    },
    { kind: 'note', id: 'rule', note: () => <RuleText rule={rule} /> },
    {
      kind: 'choice',
      path: 'caller',
      label: 'Caller',
      choices: callers.filter(({ value }) => value !== 'account' || accounts.length > 0),
    },
    {
      kind: 'choice',
      path: 'owner',
      label: 'Of the collection',
      isSearched: true,
      choices: accounts.map(({ id, name }) => ({ value: id, label: name })),
      when: () => account !== undefined && accounts.length > 1,
    },
    ...(account === undefined ? [] : [recordField('account', 'Account', account)]),
    {
      kind: 'choice',
      path: 'place',
      label: 'Record',
      choices: [
        { value: 'new', label: 'A new one' },
        { value: 'stored', label: 'A stored one' },
      ],
      when: () => definition === undefined,
    },
    ...(isStored ? [recordField('record', 'Stored record', collection)] : []),
    {
      kind: 'code',
      path: 'body',
      language: 'json',
      rows: 4,
      // The members of a new record, or what an update would change.
      label: isStored ? 'What is changed' : 'Its fields',
      help: 'JSON, as the request sends it.',
      placeholder: '{ "title": "First" }',
      when: () => !isStored || test === 'updateRule',
    },
  ];
}

const callers = choicesOf<Chosen['caller']>({ guest: 'Guest', account: 'Account', superuser: 'Superuser' });

function recordField(path: string, label: string, collection: Collection): Field {
  return {
    kind: 'custom',
    path,
    label,
    control: ({ id, input, onChange }) => (
      <RecordPicker
        key={collection.id}
        {...{ id, label, collection, onChange }}
        value={typeof input === 'string' ? input : ''}
      />
    ),
  };
}

function RuleText({ rule }: Pick<RuleTesterProps, 'rule'>) {
  return (
    <pre className="rule-text" tabIndex={0} aria-label="Text of the rule">
      {rule === null ? 'Superusers only' : rule === '' ? 'Everyone' : rule}
    </pre>
  );
}

interface VerdictProps {
  readonly verdict: RuleVerdict;
  readonly rule: string | null;
  readonly isSuperuser: boolean;
  readonly isGuest: boolean;
}

function Verdict({ verdict, rule, isSuperuser, isGuest }: VerdictProps) {
  const { allowed, terms } = verdict;
  const failed = terms.filter(({ result }) => !result);
  return (
    <section className="verdict" aria-label="Result" aria-live="polite">
      <Notice tone={allowed === null ? 'retrying' : allowed ? 'ok' : 'failed'}>
        <strong>{allowed === null ? 'Not tested' : allowed ? 'Allowed' : 'Refused'}</strong>
        <div>{reason({ verdict, rule, isSuperuser }, failed.length)}</div>
      </Notice>
      {isGuest && allowed === true && terms.some(isMetByNobody) && (
        <Notice tone="retrying">
          A guest has no account: <code>{'@request.auth'}</code> is empty and equals any other empty value.
          Add <code>{"@request.auth.id != ''"}</code> to admit accounts only.
        </Notice>
      )}
      <ol className="terms">
        {terms.map(({ text, position, result, sides }) => (
          <li key={position} className="term" data-result={result ? 'true' : 'false'}>
            {result ? <CircleCheck size={15} aria-hidden /> : <CircleX size={15} aria-hidden />}
            <div>
              <span className="mono">{text}</span>
              {sides.map((side, index) => (
                // Both sides may have the same text.
                <p key={index === 0 ? 'left' : 'right'} className="soft">
                  <span className="mono">{side.text}</span> is{' '}
                  <span className="mono">{valuesText(side.values)}</span>
                </p>
              ))}
            </div>
            <span className="term-result">{result ? 'true' : 'false'}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function valuesText(values: readonly unknown[]): string {
  return values.length === 0 ? 'no value' : values.map((value) => JSON.stringify(value)).join(', ');
}

/** Whether a comparison with the account of the caller is true though there is none. */
function isMetByNobody({ text, result }: RuleVerdict['terms'][number]): boolean {
  return result && text.includes('@request.auth.') && !text.includes('!');
}

function reason({ verdict, rule, isSuperuser }: Omit<VerdictProps, 'isGuest'>, failed: number): string {
  if (verdict.message !== '') return verdict.message;
  if (isSuperuser) return 'Superusers pass every rule.';
  if (ruleKind(rule) === 'locked') return 'The rule admits superusers only.';
  if (ruleKind(rule) === 'public') return 'The rule admits everyone.';
  if (verdict.allowed === true) return 'The rule is true.';
  return failed === 0
    ? 'Each comparison is true by itself, but for different related records.'
    : `${failed} of ${verdict.terms.length} comparisons ${failed === 1 ? 'is' : 'are'} false.`;
}

const methods: Readonly<Partial<Record<RuleName, string>>> = {
  createRule: 'POST',
  authRule: 'POST',
  updateRule: 'PATCH',
  manageRule: 'PATCH',
  deleteRule: 'DELETE',
};

type TestInput = RuleTest & { readonly rule: string | null };

/** Returns the first test of a rule: as the newest account, and on the newest record unless the rule is about new ones. */
export async function firstTest(
  name: RuleName,
  { collection, collections }: FirstTestContext,
): Promise<TestSearch> {
  const accounts = collections.find(({ type, system }) => type === 'auth' && !system);
  const isStored = collection !== undefined && name !== 'createRule';
  const [account, record] = await Promise.all([
    accounts === undefined ? undefined : newestRecord(accounts.name),
    isStored ? newestRecord(collection) : undefined,
  ]);
  return {
    test: name,
    ...(accounts !== undefined && account !== undefined && { as: `${accounts.id}/${account}` }),
    ...(record !== undefined && { on: record }),
  };
}

interface FirstTestContext {
  /** The name of the stored collection; undefined for one that is not saved. */
  readonly collection: string | undefined;
  readonly collections: readonly Collection[];
}

interface Test {
  readonly name: RuleName;
  readonly rule: string | null;
  readonly search: TestSearch;
  readonly members: Readonly<Record<string, unknown>>;
}

function toTest({ name, rule, search, members }: Test): TestInput {
  const { as = '', on } = search;
  const [collection = '', id = ''] = as.split('/');
  const isUpdate = on !== undefined && name === 'updateRule';
  return {
    rule,
    caller: id === '' ? (as === 'superuser' ? 'superuser' : 'guest') : { collection, id },
    record: on === undefined ? members : on.trim(),
    request: { method: methods[name] ?? 'GET', ...(isUpdate && { body: members }) },
  };
}

/** True as long as an account or a record is to be chosen. */
function isIncomplete({ as = '', on }: TestSearch): boolean {
  return as.endsWith('/') || (on !== undefined && on.trim() === '');
}

function parseMembers(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value))
      : undefined;
  } catch {
    return undefined;
  }
}
