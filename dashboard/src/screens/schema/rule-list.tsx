import FlaskConical from 'lucide-react/icons/flask-conical';
import { useEffect, useRef, useState } from 'react';
import type { Collection } from '../../api/client.ts';
import {
  type CollectionInput,
  type RuleKind,
  ruleKind,
  type RuleName,
  rulesOf,
  ruleTitles,
  signedInRule,
} from '../../api/definitions.ts';
import { Button } from '../../parts/button.tsx';
import type { Choice } from '../../parts/form/field.ts';
import { Segments } from '../../parts/radio-list.tsx';
import { RuleMark } from '../../parts/rule-mark.tsx';
import { type DraftHandle, toCheckedInput } from './definition-draft.ts';
import { RuleInput } from './rule-input.tsx';

const meanings: Readonly<Record<RuleName, string>> = {
  listRule: 'Which records a list shows to the caller.',
  viewRule: 'Which records the caller may open, or see expanded.',
  createRule: 'What the caller may create. Evaluated on the new record.',
  updateRule: 'What the caller may change. Evaluated on the stored record; @request.body has the change.',
  deleteRule: 'What the caller may delete.',
  authRule: 'Which accounts may sign in.',
  manageRule: 'Who may change the email, password and verification of other accounts.',
};

interface RuleListProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly errors: ReadonlyMap<string, string>;
  /** The rule to begin with, where the address names one. */
  readonly focused: RuleName | undefined;
  readonly onTest: (name: RuleName) => void;
}

export function RuleList({ draft, collections, errors, focused, onTest }: RuleListProps) {
  const definition = toCheckedInput(draft, !collections.some(({ id }) => id === draft.base.id));
  return (
    <div className="rules">
      {rulesOf(draft.next).map((name) => (
        <Rule
          key={name}
          name={name}
          value={draft.next[name] ?? null}
          collection={draft.next}
          collections={collections}
          error={errors.get(name)}
          definition={definition}
          isFocused={name === focused}
          onChange={(value) => draft.change({ [name]: value })}
          onTest={() => onTest(name)}
        />
      ))}
    </div>
  );
}

interface RuleProps {
  readonly name: RuleName;
  readonly value: string | null;
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly error: string | undefined;
  readonly definition: CollectionInput;
  readonly isFocused: boolean;
  readonly onChange: (value: string | null) => void;
  readonly onTest: () => void;
}

type Mode = RuleKind;

/** Who may do one thing. The usual answers are a click away; an expression that is still empty admits nobody. */
function Rule(props: RuleProps) {
  const { name, value, collection, collections, error, definition, isFocused, onChange, onTest } = props;
  const [isWriting, setIsWriting] = useState(false);
  const block = useFocusOnce(isFocused);
  const kind = ruleKind(value);
  const choices = choicesOf(name);
  const mode: Mode = !isWriting && choices.some((choice) => choice.value === kind) ? kind : 'expression';
  const id = `rule-${name}`;
  const title = ruleTitles[name];
  const choose = (next: Mode): void => {
    setIsWriting(next === 'expression');
    if (next === 'locked') onChange(null);
    if (next === 'public') onChange('');
    if (next === 'signedIn') onChange(signedInRule);
    if (next !== 'expression') return;
    if (value === '') onChange(null);
    requestAnimationFrame(() => document.getElementById(id)?.focus());
  };
  return (
    <section className="rule" ref={block} aria-labelledby={`${id}-title`} data-rule={name}>
      <div className="rule-head">
        <RuleMark kind={mode} />
        <h3 id={`${id}-title`}>{title}</h3>
        <div role="radiogroup" aria-label={`${title}: who`}>
          <Segments choices={choices} value={mode} onChange={choose} />
        </div>
        <Button icon={FlaskConical} tone="quiet" onClick={onTest} aria-label={`Test as… ${title}`}>
          Test as…
        </Button>
      </div>
      <p className="field-help">{meanings[name]}</p>
      {(mode === 'expression' || mode === 'signedIn') && (
        <RuleInput
          id={id}
          label={`${title} rule`}
          value={value ?? ''}
          collection={collection}
          collections={collections}
          error={error}
          definition={definition}
          onChange={(text) => {
            setIsWriting(true);
            onChange(text.trim() === '' ? null : text);
          }}
        />
      )}
      {error !== undefined && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

function choicesOf(name: RuleName): readonly (Choice & { readonly value: Mode })[] {
  const expression = { value: 'expression', label: 'Expression' } as const;
  if (name === 'authRule')
    return [{ value: 'locked', label: 'Nobody' }, { value: 'public', label: 'Every account' }, expression];
  const locked = { value: 'locked', label: 'Superusers' } as const;
  if (name === 'manageRule') return [locked, expression];
  return [
    locked,
    { value: 'signedIn', label: 'Signed in' },
    { value: 'public', label: 'Everyone' },
    expression,
  ];
}

/** Brings what a link is about into sight, once. */
function useFocusOnce(isFocused: boolean) {
  const block = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isFocused) return;
    block.current?.scrollIntoView({ block: 'center' });
    const control = (selector: string) => block.current?.querySelector<HTMLElement>(selector);
    (control('textarea, .editor') ?? control(':checked'))?.focus();
  }, [isFocused]);
  return block;
}
