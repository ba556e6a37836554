import { useId, useState, type ReactNode } from 'react';
import { Failure } from '../api/client.ts';
import { useAttempt } from './attempt-form.tsx';
import { errorAttributes, LabelledField } from './labelled-field.tsx';
import { FailureNotice } from './notice.tsx';

interface ImportSource<Plan> {
  /** What the text begins with. */
  readonly initial?: string;
  /** The member of a file that has the list; a list alone will do as well. */
  readonly member: string;
  /** What the import would change. The service checks each item. */
  readonly plan: (items: readonly unknown[], deleteMissing: boolean) => Promise<Plan>;
  readonly apply: (items: readonly unknown[], deleteMissing: boolean) => Promise<void>;
}

/** A list as JSON that is imported after a look at what that would change. */
export function usePlannedImport<Plan>({ initial = '', member, ...source }: ImportSource<Plan>) {
  const [text, setText] = useState(initial);
  const [deleteMissing, setDeleteMissing] = useState(false);
  const [plan, setPlan] = useState<Plan>();
  const { error, isBusy, attempt, forget } = useAttempt();
  // What is shown is what is applied: another text has to be looked at again.
  const change = (set: () => void): void => {
    set();
    setPlan(undefined);
    forget();
  };
  const apply = async (): Promise<void> => source.apply(listIn(text, member), deleteMissing);
  return {
    text,
    deleteMissing,
    plan,
    error,
    isBusy,
    setText: (next: string) => change(() => setText(next)),
    setDeleteMissing: (next: boolean) => change(() => setDeleteMissing(next)),
    review: () =>
      attempt(async () => {
        setPlan(undefined);
        setPlan(await source.plan(listIn(text, member), deleteMissing));
      }),
    /** Throws, for a dialog that asks first. */
    apply,
    attemptApply: () => attempt(apply),
  };
}

/** What was typed is no list. */
class NoList extends Error {}

function listIn(text: string, member: string): readonly unknown[] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new NoList('Invalid JSON.');
  }
  const members = new Map<string, unknown>(
    typeof file === 'object' && file !== null ? Object.entries(file) : [],
  );
  const list = Array.isArray(file) ? file : members.get(member);
  if (Array.isArray(list)) return list;
  throw new NoList(`A list is needed: [ … ], or { "${member}": [ … ] }.`);
}

interface ImportFieldsProps {
  readonly form: Omit<ReturnType<typeof usePlannedImport>, 'plan'>;
  readonly label: string;
  readonly help: string;
  readonly aside: ReactNode;
  readonly rows: number;
  readonly placeholder?: string;
  readonly deleteLabel: string;
}

/** The text, whether what is not in it goes, and why it is refused. */
export function ImportFields(props: ImportFieldsProps) {
  const { form, label, help, aside, rows, placeholder, deleteLabel } = props;
  const { text, error, deleteMissing } = form;
  const id = useId();
  const problem = error instanceof NoList ? error.message : undefined;
  const refused = error instanceof Failure ? [...error.fields] : [];
  return (
    <>
      <LabelledField {...{ id, label, help, aside }} error={problem}>
        <textarea
          {...{ id, rows, placeholder }}
          className="input mono"
          value={text}
          spellCheck={false}
          onChange={({ target }) => form.setText(target.value)}
          {...errorAttributes(id, problem)}
        />
      </LabelledField>
      <label className="check">
        <input
          type="checkbox"
          checked={deleteMissing}
          onChange={({ target }) => form.setDeleteMissing(target.checked)}
        />
        {deleteLabel}
      </label>
      {error !== undefined && problem === undefined && <FailureNotice error={error} />}
      {refused.length > 0 && (
        <ul className="settings-errors">
          {refused.map(([path, message]) => (
            <li key={path}>
              <span className="mono">{path}</span>: {message}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
