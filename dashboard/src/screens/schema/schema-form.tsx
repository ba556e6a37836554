import type { ReactNode } from 'react';
import { type Collection, Failure } from '../../api/client.ts';
import type { RuleName } from '../../api/definitions.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { AuthOptions } from './auth-options.tsx';
import { plural } from '../../parts/time.tsx';
import type { DraftHandle } from './definition-draft.ts';
import { FieldList } from './field-list.tsx';
import { IndexList } from './index-list.tsx';
import { LazyViewQuery } from './lazy-view-query.tsx';
import { RuleList } from './rule-list.tsx';

interface SchemaFormProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly error: unknown;
  readonly isNew: boolean;
  readonly focusedRule?: RuleName | undefined;
  readonly onTest: (name: RuleName) => void;
  /** What stands beside the name. */
  readonly children?: ReactNode;
}

/** Everything that a definition holds. What the service says of a part stands at that part. */
export function SchemaForm({
  draft,
  collections,
  error,
  isNew,
  focusedRule,
  onTest,
  children,
}: SchemaFormProps) {
  const errors = problemsOf(error);
  const nameError = errors.get('name');
  const isView = draft.next.type === 'view';
  return (
    <>
      {error !== undefined && (
        <FailureNotice
          error={error}
          message={
            errors.size === 0
              ? undefined
              : `The definition was rejected: ${plural(errors.size, 'problem')}, shown in place.`
          }
        />
      )}
      <div className="schema-name-row">
        <LabelledField id="collection-name" label="Name" error={nameError}>
          <input
            id="collection-name"
            className="input"
            value={draft.next.name}
            readOnly={draft.next.system}
            autoFocus={isNew}
            spellCheck={false}
            autoComplete="off"
            placeholder="posts"
            onChange={(event) => draft.change({ name: event.target.value })}
            {...errorAttributes('collection-name', nameError)}
          />
        </LabelledField>
        {children}
      </div>
      <Section id="fields" title={isView ? 'Query' : 'Fields'}>
        {isView ? (
          <LazyViewQuery draft={draft} collections={collections} error={errors.get('viewQuery')} />
        ) : (
          <FieldList draft={draft} collections={collections} errors={errors} isNew={isNew} />
        )}
      </Section>
      <Section id="rules" title="Rules" note="Who can do what. Superusers can do everything.">
        <RuleList
          draft={draft}
          collections={collections}
          errors={errors}
          focused={focusedRule}
          onTest={onTest}
        />
      </Section>
      {!isView && (
        <Section id="indexes" title="Indexes">
          <IndexList draft={draft} errors={errors} />
        </Section>
      )}
      {draft.next.type === 'auth' && (
        <Section id="accounts" title="Accounts">
          <AuthOptions draft={draft} collections={collections} errors={errors} />
        </Section>
      )}
    </>
  );
}

/** What is wrong with each part. A plan says in which collection it is, too: in this one. */
export function problemsOf(error: unknown): ReadonlyMap<string, string> {
  if (!(error instanceof Failure)) return new Map();
  return new Map(
    [...error.fields]
      .filter(([path]) => path !== 'collections')
      // The field says that it is a rule.
      .map(([path, message]) => [path, message.replace(/^Invalid rule\. Raw error: /, '')] as const),
  );
}

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly note?: string;
  readonly children: ReactNode;
}

function Section({ id, title, note, children }: SectionProps) {
  return (
    <section className="schema-section" aria-labelledby={id}>
      <div className="schema-section-head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="faint">{note}</span>}
      </div>
      {children}
    </section>
  );
}
