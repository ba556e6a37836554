import ChevronRight from 'lucide-react/icons/chevron-right';
import {
  Fragment,
  useEffect,
  useEffectEvent,
  useState,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
} from 'react';
import { useKeys } from '../../browser/keys.ts';
import { Button } from '../button.tsx';
import { Key } from '../key.tsx';
import { FailureNotice } from '../notice.tsx';
import { plural } from '../time.tsx';
import { type Field, fieldsOf, type Part } from './field.ts';
import { FieldView } from './field-view.tsx';
import { Group } from './group.tsx';
import type { Form } from './use-form.ts';

interface FormViewProps {
  readonly form: Form;
  /** What the button says that saves. */
  readonly action: string;
  /** Of a drawer, whose foot stays in sight; or of a page. */
  readonly layout?: 'drawer' | 'page';
  readonly label?: string;
  /** Beside the button. */
  readonly note?: ReactNode;
  /** Whether it can be read and not changed. */
  readonly isLocked?: boolean;
  /** Whether something has to be done first. */
  readonly isReady?: boolean;
  /** Below fields, by their paths. */
  readonly extras?: Extras;
  /** Above the fields. */
  readonly lead?: ReactNode;
  /** Below them. */
  readonly children?: ReactNode;
  readonly onCancel?: () => void;
}

type Extras = Readonly<Record<string, ReactNode>>;

/** A form: its fields, what is wrong beside each, what has changed, and the button that saves it. */
export function FormView(props: FormViewProps) {
  const { form, layout = 'page', label, isLocked = false, extras = {}, lead, children } = props;
  useFocusOfError(form);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    form.submit();
  };
  const press = (event: Pick<KeyboardEvent, 'metaKey' | 'ctrlKey' | 'key' | 'preventDefault'>): void => {
    if (!(event.metaKey || event.ctrlKey) || !['Enter', 's'].includes(event.key)) return;
    event.preventDefault();
    form.submit();
  };
  // Where the focus is in no form, the keys are for the one that is edited.
  const save = layout === 'page' && !form.isNew ? press : noKey;
  useKeys({ 'Mod+enter': save, 'Mod+s': save });
  return (
    <form
      className={layout === 'drawer' ? 'drawer-body endpoint-form' : 'settings-form'}
      aria-label={label}
      noValidate
      onSubmit={submit}
      onKeyDown={press}
    >
      <fieldset
        className={layout === 'drawer' ? 'form-fields drawer-form' : 'form-fields'}
        disabled={isLocked}
      >
        {lead}
        <PartViews form={form} parts={form.parts} extras={extras} />
        {children}
        {form.failure !== undefined && <FailureNotice error={form.failure} />}
      </fieldset>
      {!isLocked && <Foot {...props} />}
    </form>
  );
}

/** What saves, what takes back, and what would be saved. */
function Foot({ form, action, layout = 'page', note, isReady = true, onCancel }: FormViewProps) {
  const isDirty = form.changed.length > 0;
  const isDrawer = layout === 'drawer';
  const save = (
    <Button type="submit" tone="primary" disabled={form.isBusy || !isReady || (!form.isNew && !isDirty)}>
      {action}
      {!isDrawer && <Key keys="Mod↵" />}
    </Button>
  );
  const discard = (isDirty || onCancel !== undefined) && (
    <Button tone="quiet" onClick={onCancel ?? form.discard}>
      {onCancel === undefined ? 'Discard' : 'Cancel'}
    </Button>
  );
  if (isDrawer)
    return (
      <div className="drawer-foot">
        <span className="drawer-foot-note">{note}</span>
        {discard}
        {save}
      </div>
    );
  return (
    <div className="settings-foot">
      {save}
      {discard}
      {!form.isNew && isDirty && <span className="form-changes">{changesText(form)}</span>}
    </div>
  );
}

const noKey = (): void => undefined;
const namedMax = 3;

/** `Changed: Name, URL`, `6 changes`. */
function changesText({ changed }: Form): string {
  if (changed.length > namedMax) return plural(changed.length, 'change');
  return `Changed: ${changed.map(({ label }) => label).join(', ')}`;
}

/** Leads to the first error once saving was refused. */
function useFocusOfError(form: Form): void {
  const focus = useEffectEvent(() => {
    const field = fieldsOf(form.parts).find(({ path }) => form.refused.has(path));
    if (field !== undefined) document.getElementById(form.idOf(field))?.focus();
  });
  useEffect(() => {
    if (form.refusals > 0) focus();
  }, [form.refusals]);
}

interface PartViewsProps {
  readonly form: Form;
  readonly parts: readonly Part[];
  readonly extras?: Extras | undefined;
}

/** Fields as their description has them. */
export function PartViews({ form, parts, extras = {} }: PartViewsProps) {
  return parts.map((part) => {
    switch (part.kind) {
      case 'group':
        return (
          <Group key={part.title} title={part.title} lead={part.lead}>
            <PartViews form={form} parts={part.parts} extras={extras} />
          </Group>
        );
      case 'fold':
        return <Fold key={part.title} form={form} part={part} extras={extras} />;
      case 'row':
        return (
          <div key={keyOf(part.parts[0])} className="form-row">
            <PartViews form={form} parts={part.parts} extras={extras} />
          </div>
        );
      case 'note':
        return <Fragment key={part.id}>{part.note(form)}</Fragment>;
      default:
        return (
          <Fragment key={keyOf(part)}>
            <FieldView form={form} field={part} />
            {form.isShown(part) && extras[part.path]}
          </Fragment>
        );
    }
  });
}

function keyOf(field: Field | undefined): string {
  return field?.id ?? field?.path ?? '';
}

interface FoldProps extends Omit<PartViewsProps, 'parts'> {
  readonly part: Part & { readonly kind: 'fold' };
}

/** What most leave as it is. It opens where something in it is wrong. */
function Fold({ form, part, extras }: FoldProps) {
  const fields = fieldsOf(part.parts);
  const note = part.note?.(form) ?? '';
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details
      className="endpoint-more"
      // Open by an error it stays open when that is corrected.
      open={isOpen || fields.some(({ path }) => form.errors.has(path))}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      <summary>
        <ChevronRight size={13} aria-hidden />
        {part.title}
        {note !== '' && <span className="faint small">{note}</span>}
      </summary>
      <div className="form-folded">
        <PartViews form={form} parts={part.parts} extras={extras} />
      </div>
    </details>
  );
}
