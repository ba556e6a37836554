import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call, type Collection } from '../../api/client.ts';
import { collectionsQuery, useLoadedCollections } from '../../api/collections.ts';
import { accountParts, secondFactorRule, signInParts, tokenLifetimes } from '../../parts/account-parts.ts';
import type { Field, Part } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { Picker } from '../../parts/form/picker.tsx';
import { type Form, useForm } from '../../parts/form/use-form.ts';
import { mailTemplates, templateFields } from '../../parts/mail-templates.ts';
import { Notice } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';
import { useSectionSearch } from './settings-form.tsx';

/** How accounts sign in, and how long what they get is good for. */
export function AccountSection() {
  const { collection, picker } = useAccountCollection();
  return (
    <>
      {picker}
      {collection !== undefined && <AccountForm key={collection.id} collection={collection} />}
    </>
  );
}

const ruleOfSecondFactor: Field = { ...secondFactorRule, kind: 'code', language: 'filter' };

function AccountForm({ collection }: { readonly collection: Collection }) {
  const form = useCollectionForm('accounts', collection, [
    {
      kind: 'group',
      title: 'Sign-in',
      parts: [...signInParts(collection), ...accountParts(ruleOfSecondFactor)],
    },
    { kind: 'group', title: 'Token lifetimes', parts: tokenLifetimes },
  ]);
  return <FormView form={form} action="Save" />;
}

/** What mails to accounts say. */
export function TemplateSection() {
  const [{ template = 'verification' }, set] = useSectionSearch();
  const { collection, picker } = useAccountCollection();
  const shown = mailTemplates.find(({ name }) => name === template) ?? mailTemplates[0];
  if (shown === undefined) return null;
  return (
    <>
      {picker}
      <div className="segments settings-segments" role="tablist" aria-label="Mail">
        {mailTemplates.map(({ name, label }) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === shown.name}
            onClick={() => set({ template: name })}
          >
            {label}
          </button>
        ))}
      </div>
      {collection !== undefined && (
        <TemplateForm
          key={`${collection.id}${shown.name}`}
          collection={collection}
          path={shown.path}
          placeholders={shown.placeholders}
        />
      )}
    </>
  );
}

interface TemplateFormProps {
  readonly collection: Collection;
  readonly path: string;
  readonly placeholders: readonly string[];
}

function TemplateForm({ collection, path, placeholders }: TemplateFormProps) {
  const form = useCollectionForm(path, collection, [
    { kind: 'group', title: 'Template', parts: templateFields({ path, placeholders }, collection) },
  ]);
  // The switch of a mail is beside its template.
  const { otp, authAlert } = collection;
  const isOff =
    (path.startsWith('otp.') && otp?.enabled !== true) ||
    (path.startsWith('authAlert.') && authAlert?.enabled !== true);
  return <FormView form={form} action="Save" lead={isOff && <MailIsOff collection={collection.name} />} />;
}

function MailIsOff({ collection }: { readonly collection: string }) {
  return (
    <Notice>
      This email is off. Turn it on under{' '}
      <Link to="/settings/$section" params={{ section: 'accounts' }} search={{ collection }} className="link">
        Accounts
      </Link>
      .
    </Notice>
  );
}

/** The options of a collection of accounts. */
function useCollectionForm(section: string, collection: Collection, parts: readonly Part[]): Form {
  const queries = useQueryClient();
  return useForm({
    name: `${section}:${collection.id}`,
    parts,
    values: { ...collection },
    save: async (body) => {
      await call('PATCH /api/collections/{collection}', { path: { collection: collection.id }, body });
      showToast('Saved.');
      await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
    },
  });
}

/** The collection that the address names, else the first one of people's own; and what chooses another. */
function useAccountCollection() {
  const [{ collection: name }, set] = useSectionSearch();
  const all = useLoadedCollections()?.filter(({ type }) => type === 'auth') ?? [];
  const collection = all.find((one) => one.name === name) ?? all.find(({ system }) => !system) ?? all[0];
  const picker = (
    <Picker
      id="account-collection"
      label="Accounts of"
      choices={all.map((one) => ({ value: one.name, label: one.name }))}
      value={collection?.name}
      onChange={(next) => set({ collection: next })}
    />
  );
  return { collection, picker };
}
